/* Runs one suite: CMake builds each tests/unit/test_SUBJECT.c with this file and WEFT_SUITE=suite_SUBJECT. */
#include <check.h>
#include <stdlib.h>

Suite *WEFT_SUITE(void);

int main(void) {
  SRunner *runner = srunner_create(WEFT_SUITE());
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
