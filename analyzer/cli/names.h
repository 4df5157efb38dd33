/* Moved: include "base/names.h". */
#include "base/names.h"
