/* Recursion: a list built by a function that calls itself, a tree by two that call each other, and a
 * deep descent that allocates at the bottom only.
 *
 *   list:     200 levels, 32 bytes each = 6400, kept (no stack is deeper than what valgrind can show)
 *   even/odd: a full binary tree of depth 10: 2^10 - 1 = 1023 nodes of 48 bytes = 49104; freed by fell
 *   descend:  at depth 300 one block of 9999 bytes, kept; libc's start and main come on top */
#include "target.h"

struct node {
	struct node *left, *right;
};

NOINLINE static void *list(int levels)
{
	void **link = keep(malloc(32));
	link[0] = levels > 1 ? list(levels - 1) : NULL;
	return link;
}

static struct node *odd(int depth);

NOINLINE static struct node *even(int depth)
{
	struct node *node = keep(malloc(48));
	node->left = depth > 1 ? odd(depth - 1) : NULL;
	node->right = depth > 1 ? odd(depth - 1) : NULL;
	return node;
}

NOINLINE static struct node *odd(int depth)
{
	struct node *node = keep(malloc(48));
	node->left = depth > 1 ? even(depth - 1) : NULL;
	node->right = depth > 1 ? even(depth - 1) : NULL;
	return node;
}

NOINLINE static void fell(struct node *node)
{
	if (node == NULL)
		return;
	fell(node->left);
	fell(node->right);
	free(node);
}

NOINLINE static void *descend(int levels)
{
	void *block = levels > 1 ? descend(levels - 1) : malloc(9999);
	return keep(block);
}

int main(void)
{
	list(200);
	fell(even(10));
	descend(300);
	return 0;
}
