/* Moved: include "base/text.h". */
#include "base/text.h"
