/* DHAT's JSON, of valgrind, of dhat-rs, and our own. */
#include "imported.h"

static const char valgrind[] =
	"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":true,\n"
	"\"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,\"cmd\":\"./t1 "
	"--once\",\"pid\":42,\"te\":1000,\"tg\":500,\n"
	"\"pps\":[{\"tb\":300,\"tbk\":3,\"tl\":30,\"mb\":0,\"mbk\":0,\"gb\":200,\"gbk\":2,\"eb\":100,\"ebk\":"
	"1,"
	"\"rb\":0,\"wb\":0,\"acc\":[-3,0],\"fs\":[1,2,3]},\n"
	"{\"tb\":8,\"tbk\":1,\"tl\":3,\"mb\":8,\"mbk\":1,\"gb\":0,\"gbk\":0,\"eb\":0,\"ebk\":0,\"rb\":0,"
	"\"wb\":0,"
	"\"fs\":[1,4]}],\n"
	"\"ftbl\":[\"[root]\",\"0x4848899: malloc (in /usr/lib/valgrind/vgpreload.so)\",\"0x109171: keep "
	"(t1.c:3)\","
	"\"0x109171: main (t1.c:5)\",\"0x10: ???\"]}";
static const char rust[] =
	"{\"dhatFileVersion\":2,\"mode\":\"rust-heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,"
	"\"tu\":\"\xc2\xb5s\",\"Mtu\":\"s\",\"tuth\":10,\"cmd\":\"t\",\"pid\":1,\"te\":99,\"tg\":9,\"pps\":["
	"{\"tb\":30,\"tbk\":2,\"tl\":5,\"mb\":20,\"mbk\":1,\"gb\":20,\"gbk\":1,\"eb\":10,\"ebk\":1,\"fs\":[1,"
	"2]}],"
	"\"ftbl\":[\"[root]\",\"0x55d0: <alloc::vec::Vec<T>>::push (src/vec.rs:12:5)\",\"0x55d1: ??? "
	"(???:0:0)\"]}";
static const char copy[] =
	"{\"dhatFileVersion\":2,\"mode\":\"copy\",\"verb\":\"Copied\",\"bklt\":false,\"bkacc\":false,\"tu\":"
	"\"instrs\","
	"\"Mtu\":\"M\",\"cmd\":\"t\",\"pid\":1,\"te\":99,\"pps\":[],\"ftbl\":[\"[root]\"]}";

void fuzz_seeds(fuzz_add *add, void *context)
{
	add(context, valgrind, sizeof valgrind - 1);
	add(context, rust, sizeof rust - 1);
	add(context, copy, sizeof copy - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import("dhat", data, size);
	return 0;
}
