/* The runtime's object file as bytes inside weft: link_shared writes it out and joins it to every compiled model.
 * WEFT_RUNTIME_OBJECT is the object's path, given by CMake. */
        .section .rodata.weft_runtime_object, "a"
        .balign 16
        .globl weft_runtime_object
        .hidden weft_runtime_object
        .type weft_runtime_object, @object
weft_runtime_object:
        .incbin WEFT_RUNTIME_OBJECT
        .globl weft_runtime_object_end
        .hidden weft_runtime_object_end
weft_runtime_object_end:
        .size weft_runtime_object, weft_runtime_object_end - weft_runtime_object
        .section .note.GNU-stack, "", %progbits
