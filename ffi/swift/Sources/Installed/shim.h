/* Names the headers that pkg-config finds; their own module map makes them the module CUndertone. */
#include <undertone.h>
