/* The modes of pad, in the order of its row. */
#ifndef WEFT_IR_OPS_PAD_H
#define WEFT_IR_OPS_PAD_H

enum { PAD_MODE_CONSTANT, PAD_MODE_REFLECT, PAD_MODE_EDGE, PAD_MODE_WRAP };

#endif
