// That Swift and Objective-C can import the module: compiled, never run.
@import CUndertone;

int32_t parsed(uint32_t *micro);
int32_t parsed(uint32_t *micro) { return undertone_epsilon_parse("0.5", 3, micro); }
