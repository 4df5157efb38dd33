/* pool T N: a server in little, without a network. One thread reads N requests and passes them to a pool of T
 * workers; a worker parses its request into fields, looks things up in a table that all share, builds an
 * answer by realloc and hands it back to be freed: blocks that wander between threads, lives of all lengths.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUE = 256, BUCKETS = 4096, MOST_FIELDS = 16 };

struct message {
	char *text;
	struct message *next;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct message *first, **last;
	int count;
	int closed;
};

struct entry {
	char *key, *value;
	struct entry *next;
};

static struct queue requests = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0};
static struct queue answers = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0};
static struct entry *table[BUCKETS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void put(struct queue *queue, struct message *message)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == QUEUE)
		pthread_cond_wait(&queue->room, &queue->lock);
	message->next = NULL;
	if (!queue->first)
		queue->last = &queue->first;
	*queue->last = message;
	queue->last = &message->next;
	queue->count++;
	pthread_cond_signal(&queue->more);
	pthread_mutex_unlock(&queue->lock);
}

static struct message *take(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->closed)
		pthread_cond_wait(&queue->more, &queue->lock);
	struct message *message = queue->first;
	if (message) {
		queue->first = message->next;
		queue->count--;
		pthread_cond_signal(&queue->room);
	}
	pthread_mutex_unlock(&queue->lock);
	return message;
}

static void close_queue(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = 1;
	pthread_cond_broadcast(&queue->more);
	pthread_mutex_unlock(&queue->lock);
}

/* Fields of "a=b&c=d": each a block of its own. */
static int parse(const char *text, char **fields)
{
	int count = 0;
	while (*text && count < MOST_FIELDS) {
		size_t length = strcspn(text, "&");
		fields[count++] = strndup(text, length);
		text += length + (text[length] == '&');
	}
	return count;
}

static unsigned hash(const char *text)
{
	unsigned value = 5381;
	while (*text)
		value = value * 33 + (unsigned char)*text++;
	return value % BUCKETS;
}

/* Remembers the field's value under its key, in place of the one before. Returns a copy of what was there. */
static char *exchange(const char *field)
{
	const char *equals = strchr(field, '=');
	char *key = strndup(field, equals ? (size_t)(equals - field) : strlen(field));
	char *value = strdup(equals ? equals + 1 : ""), *before = NULL;
	unsigned bucket = hash(key);
	pthread_mutex_lock(&table_lock);
	struct entry *entry = table[bucket];
	while (entry && strcmp(entry->key, key) != 0)
		entry = entry->next;
	if (entry) {
		before = entry->value;
		entry->value = value;
		free(key);
	} else {
		entry = malloc(sizeof *entry);
		*entry = (struct entry){key, value, table[bucket]};
		table[bucket] = entry;
	}
	pthread_mutex_unlock(&table_lock);
	return before;
}

static char *append(char *text, size_t *length, const char *more)
{
	size_t bytes = strlen(more);
	text = realloc(text, *length + bytes + 1);
	memcpy(text + *length, more, bytes + 1);
	*length += bytes;
	return text;
}

static void serve(struct message *request)
{
	char *fields[MOST_FIELDS], *answer = NULL;
	size_t length = 0;
	int count = parse(request->text, fields);
	for (int i = 0; i < count; i++) {
		char *before = exchange(fields[i]);
		answer = append(answer, &length, before ? before : "-");
		answer = append(answer, &length, ";");
		free(before);
		free(fields[i]);
	}
	free(request->text);
	request->text = answer;
	put(&answers, request);
}

static void *work(void *argument)
{
	(void)argument;
	struct message *request;
	while ((request = take(&requests)))
		serve(request);
	return NULL;
}

static void *receive(void *argument)
{
	size_t bytes = 0;
	struct message *answer;
	while ((answer = take(&answers))) {
		bytes += answer->text ? strlen(answer->text) : 0;
		free(answer->text);
		free(answer);
	}
	*(size_t *)argument = bytes;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long count = argc > 2 ? atol(argv[2]) : 100000;
	if (threads < 1 || threads > 64 || count < 1) {
		fprintf(stderr, "usage: pool THREADS REQUESTS\n");
		return 2;
	}
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	pthread_t workers[64], receiver;
	size_t bytes = 0;
	pthread_create(&receiver, NULL, receive, &bytes);
	for (int i = 0; i < threads; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	uint32_t random = 1;
	for (long i = 0; i < count; i++) {
		struct message *request = malloc(sizeof *request);
		char text[400];
		int length = 0;
		for (int field = 0; field < 8; field++) {
			random = random * 1664525 + 1013904223;
			length += snprintf(text + length, sizeof text - (size_t)length, "%skey%u=value%u",
					   field ? "&" : "", random >> 18, random >> 7 & 0xffff);
		}
		request->text = strdup(text);
		put(&requests, request);
	}
	close_queue(&requests);
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i], NULL);
	close_queue(&answers);
	pthread_join(receiver, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	printf("%ld requests, %.0f a second, %zu bytes of answers\n", count, (double)count / seconds, bytes);
	return 0;
}
