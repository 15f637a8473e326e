/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of the CUDA driver API that the self-test uses, found in libcuda.so.1 at run time. Declared by us, so that
 * no toolkit is needed to build; knows nothing of what is tested.
 */
#ifndef CUDA_H
#define CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;		/* one of enum cuda_code or another number; never mixed with an errno */
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

/*
 * X(name, code): codes that decisions rest on or that people meet. Numbers never changed since a code was introduced;
 * a code that is not here is printed as a number.
 */
#define CUDA_CODES(X)						\
	X(CUDA_SUCCESS,					0)	\
	X(CUDA_ERROR_INVALID_VALUE,			1)	\
	X(CUDA_ERROR_OUT_OF_MEMORY,			2)	\
	X(CUDA_ERROR_NOT_INITIALIZED,			3)	\
	X(CUDA_ERROR_STUB_LIBRARY,			34)	\
	X(CUDA_ERROR_DEVICE_UNAVAILABLE,		46)	\
	X(CUDA_ERROR_NO_DEVICE,				100)	\
	X(CUDA_ERROR_INVALID_DEVICE,			101)	\
	X(CUDA_ERROR_INVALID_IMAGE,			200)	\
	X(CUDA_ERROR_INVALID_CONTEXT,			201)	\
	X(CUDA_ERROR_NO_BINARY_FOR_GPU,			209)	\
	X(CUDA_ERROR_ECC_UNCORRECTABLE,			214)	\
	X(CUDA_ERROR_INVALID_PTX,			218)	\
	X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND,		221)	\
	X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,		222)	\
	X(CUDA_ERROR_JIT_COMPILATION_DISABLED,		223)	\
	X(CUDA_ERROR_INVALID_SOURCE,			300)	\
	X(CUDA_ERROR_OPERATING_SYSTEM,			304)	\
	X(CUDA_ERROR_INVALID_HANDLE,			400)	\
	X(CUDA_ERROR_NOT_FOUND,				500)	\
	X(CUDA_ERROR_NOT_READY,				600)	\
	X(CUDA_ERROR_ILLEGAL_ADDRESS,			700)	\
	X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,		701)	\
	X(CUDA_ERROR_LAUNCH_TIMEOUT,			702)	\
	X(CUDA_ERROR_HARDWARE_STACK_ERROR,		714)	\
	X(CUDA_ERROR_ILLEGAL_INSTRUCTION,		715)	\
	X(CUDA_ERROR_MISALIGNED_ADDRESS,		716)	\
	X(CUDA_ERROR_INVALID_ADDRESS_SPACE,		717)	\
	X(CUDA_ERROR_INVALID_PC,			718)	\
	X(CUDA_ERROR_LAUNCH_FAILED,			719)	\
	X(CUDA_ERROR_NOT_PERMITTED,			800)	\
	X(CUDA_ERROR_NOT_SUPPORTED,			801)	\
	X(CUDA_ERROR_SYSTEM_NOT_READY,			802)	\
	X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,		803)	\
	X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,	804)	\
	X(CUDA_ERROR_UNKNOWN,				999)

enum cuda_code {
#define X(name, code) name = code,
	CUDA_CODES(X)
#undef X
};

/* CU_DEVICE_ATTRIBUTE_*, shortened. */
#define CU_ATTRIBUTE_SM_COUNT			16
#define CU_ATTRIBUTE_MEMORY_CLOCK_KHZ		36
#define CU_ATTRIBUTE_MEMORY_BUS_BITS		37
#define CU_ATTRIBUTE_CAPABILITY_MAJOR		75
#define CU_ATTRIBUTE_CAPABILITY_MINOR		76

#define CU_JIT_ERROR_LOG_BUFFER			5
#define CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES	6

/*
 * X(exported name, parameters). Exact names, _v2 where the plain name is the 32-bit original; all are exported by every
 * libcuda from 340 to 550 (symbol tables of the Debian packages).
 */
#define CUDA_SYMBOLS(X)											\
	X(cuInit, (unsigned int flags))									\
	X(cuDriverGetVersion, (int *version))								\
	X(cuDeviceGetByPCIBusId, (CUdevice *dev, const char *bdf))					\
	X(cuDeviceGetName, (char *name, int len, CUdevice dev))						\
	X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice dev))				\
	X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice dev))						\
	X(cuCtxCreate_v2, (CUcontext *ctx, unsigned int flags, CUdevice dev))				\
	X(cuCtxDestroy_v2, (CUcontext ctx))								\
	X(cuModuleLoadDataEx, (CUmodule *mod, const void *image, unsigned int nr, int *option, void **value)) \
	X(cuModuleGetFunction, (CUfunction *func, CUmodule mod, const char *name))			\
	X(cuLaunchKernel, (CUfunction func, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,	\
			   unsigned int block_x, unsigned int block_y, unsigned int block_z,		\
			   unsigned int shared_bytes, CUstream stream, void **params, void **extra))	\
	X(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))					\
	X(cuMemAlloc_v2, (CUdeviceptr *ptr, size_t bytes))						\
	X(cuMemHostAlloc, (void **ptr, size_t bytes, unsigned int flags))				\
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream))	\
	X(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream))		\
	X(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t bytes))				\
	X(cuMemsetD32Async, (CUdeviceptr dst, unsigned int value, size_t words, CUstream stream))	\
	X(cuStreamCreate, (CUstream *stream, unsigned int flags))					\
	X(cuStreamQuery, (CUstream stream))								\
	X(cuEventCreate, (CUevent *event, unsigned int flags))						\
	X(cuEventRecord, (CUevent event, CUstream stream))						\
	X(cuEventElapsedTime, (float *ms, CUevent start, CUevent end))

enum cuda_symbol {
#define X(name, params) CUDA_##name,
	CUDA_SYMBOLS(X)
#undef X
	NR_CUDA_SYMBOLS,
};

/**
 * struct cuda - a loaded libcuda
 * @simulated:	the library says of itself that it is a stand-in
 */
struct cuda {
	bool simulated;
#define X(name, params) CUresult (*name) params;
	CUDA_SYMBOLS(X)
#undef X
};

/* How cuda_open() ended. */
enum cuda_open_result {
	CUDA_OPEN_OK,
	CUDA_OPEN_ABSENT,	/* no libcuda.so.1 anywhere on the search path */
	CUDA_OPEN_BROKEN,	/* found, but it or something it needs cannot be loaded, or a symbol is missing */
};

/**
 * cuda_open - load libcuda.so.1 and find every symbol
 * @ret:	filled on CUDA_OPEN_OK, untouched otherwise
 * @error:	the loader's words on failure, @size bytes
 *
 * Runs the library's constructors, so only in a process that may hang or die.
 */
enum cuda_open_result cuda_open(struct cuda *ret, char *error, size_t size);

/* "cuInit" for CUDA_cuInit; "?" when out of range. */
const char *cuda_symbol_name(unsigned int symbol);

/* "CUDA_ERROR_NO_DEVICE" for 100; "unnamed code" when it is not in our list. */
const char *cuda_code_name(CUresult code);

#endif
