/* Moved: include "base/format.h". */
#include "base/format.h"
