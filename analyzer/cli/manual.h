/* The manual pages, heapscope.1 and heapscope-COMMAND.1, from the tables that the program itself runs by. */
#ifndef HS_MANUAL_H
#define HS_MANUAL_H

/* Writes all of them into `folder`, which is made if it is not there. Returns an exit code, after a message
 * if it is not 0. */
int hs_manual_write(const char *folder);

#endif
