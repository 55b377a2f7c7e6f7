/* The commands of weft, one file each. argv[0] is the command's name. Return the exit status. */
#ifndef WEFT_FRONTEND_CLI_COMMANDS_H
#define WEFT_FRONTEND_CLI_COMMANDS_H

int command_compile(int argc, char **argv);
int command_run(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_import(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_passes(int argc, char **argv);
int command_targets(int argc, char **argv);

#endif
