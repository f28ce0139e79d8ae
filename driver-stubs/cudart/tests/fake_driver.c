/* A driver of two devices that does just enough to see how the runtime uses it.
   It is not the stub libcuda: nothing here costs time or holds memory. */
#include <stdint.h>
#include <stddef.h>
#include <string.h>

static int started, loads, launches;
static __thread int context; /* 0 none, n = primary of device n-1 */
static unsigned last[8];
static void *last_stream;

#define NEEDS_CONTEXT if (!started) return 3; if (!context) return 201
#define NEEDS_START if (!started) return 3

int cuInit(unsigned flags) { (void)flags; started = 1; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { NEEDS_START; *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { (void)device; strncpy(name, "Fake", length); return 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, device + 1, 16); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = 1000; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    if (attribute > 140) return 1;
    *value = attribute;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **out, int device) {
    if (device < 0 || device > 1) return 101;
    *out = (void *)(intptr_t)(device + 1);
    return 0;
}
int cuDevicePrimaryCtxReset_v2(int device) { (void)device; return 0; }
int cuCtxSetCurrent(void *to) { NEEDS_START; context = (int)(intptr_t)to; return 0; }
int cuCtxGetDevice(int *device) { NEEDS_CONTEXT; *device = context - 1; return 0; }
int cuMemAlloc_v2(void **out, size_t bytes) {
    NEEDS_CONTEXT;
    if (bytes > 1000) return 2;
    *out = (void *)(uintptr_t)(0x1000 * context);
    return 0;
}
int cuMemFree_v2(void *address) { NEEDS_CONTEXT; return address ? 0 : 1; }
int cuStreamQuery(void *stream) { NEEDS_CONTEXT; last_stream = stream; return 600; }
int cuPointerGetAttributes(unsigned count, int *which, void **values, void *address) {
    (void)address;
    for (unsigned i = 0; i < count; i++)
        if (which[i] == 9) *(int *)values[i] = -2;
        else if (which[i] == 2 || which[i] == 8) *(unsigned char *)values[i] = 0;
        else *(void **)values[i] = NULL;
    return 0;
}
int cuLibraryLoadData(void **library, void *image, void *a, void *b, unsigned c, void *d, void *e, unsigned f) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    NEEDS_START;
    loads++;
    *library = image;
    return 0;
}
int cuLibraryUnload(void *library) { (void)library; return 0; }
int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
    (void)library;
    if (strcmp(name, "present")) return 500;
    *kernel = (void *)0x77;
    return 0;
}
int cuLibraryGetGlobal(void **address, size_t *bytes, void *library, const char *name) {
    (void)library, (void)name;
    NEEDS_CONTEXT;
    *address = (void *)(uintptr_t)(0x2000 * context);
    *bytes = 64;
    return 0;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra) {
    (void)f, (void)params, (void)extra;
    NEEDS_CONTEXT;
    if (!gx) return 1;
    unsigned now[8] = {gx, gy, gz, bx, by, bz, shared, (unsigned)(uintptr_t)stream};
    memcpy(last, now, sizeof last);
    launches++;
    return 0;
}
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
    (void)version, (void)flags;
    int found = !strcmp(name, "cuInit");
    *out = found ? (void *)cuInit : NULL;
    *status = found ? 0 : 1;
    return 0;
}

/* For the tests. */
int fake_loads(void) { return loads; }
int fake_launches(void) { return launches; }
unsigned fake_last(int i) { return last[i]; }
void *fake_stream(void) { return last_stream; }
