cdef extern from *:
    """
    #include <string.h>

    static inline unsigned long long amqpscope_read32(const unsigned char *octets) {
        unsigned int number;
        memcpy(&number, octets, 4);
        return number;
    }

    static inline unsigned long long amqpscope_read64(const unsigned char *octets) {
        unsigned long long number;
        memcpy(&number, octets, 8);
        return number;
    }

    static inline unsigned long long amqpscope_swap64(unsigned long long number) {
        number = (number & 0x00FF00FF00FF00FFULL) << 8 | (number >> 8 & 0x00FF00FF00FF00FFULL);
        number = (number & 0x0000FFFF0000FFFFULL) << 16 | (number >> 16 & 0x0000FFFF0000FFFFULL);
        return number << 32 | number >> 32;
    }

    /* Both halves of the product of 128 bits, combined. */
    static inline unsigned long long amqpscope_fold(unsigned long long a, unsigned long long b) {
    #ifdef __SIZEOF_INT128__
        unsigned __int128 product = (unsigned __int128) a * b;
        return (unsigned long long) product ^ (unsigned long long) (product >> 64);
    #else
        unsigned long long low = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
        unsigned long long left = (a >> 32) * (b & 0xFFFFFFFF);
        unsigned long long right = (a & 0xFFFFFFFF) * (b >> 32);
        unsigned long long high = (a >> 32) * (b >> 32);
        unsigned long long cross = (low >> 32) + (left & 0xFFFFFFFF) + right;
        return ((cross << 32) | (low & 0xFFFFFFFF)) ^ ((left >> 32) + (cross >> 32) + high);
    #endif
    }
    """
    unsigned long long read32 "amqpscope_read32"(const unsigned char* octets) noexcept nogil
    unsigned long long read64 "amqpscope_read64"(const unsigned char* octets) noexcept nogil
    unsigned long long swap64 "amqpscope_swap64"(unsigned long long number) noexcept nogil
    unsigned long long fold "amqpscope_fold"(
        unsigned long long a, unsigned long long b) noexcept nogil

cpdef unsigned long long digest(bytes buf, Py_ssize_t start, Py_ssize_t end) except? 0
cdef unsigned long long _to_16(unsigned char* octets, Py_ssize_t size) noexcept
cdef unsigned long long _to_128(unsigned char* octets, Py_ssize_t size) noexcept
cdef unsigned long long _to_240(unsigned char* octets, Py_ssize_t size) noexcept
cdef unsigned long long _mix16(unsigned char* octets, unsigned char* secret) noexcept
cdef unsigned long long _avalanche(unsigned long long held) noexcept
cdef unsigned long long _avalanche_64(unsigned long long held) noexcept
cdef unsigned long long _rrmxmx(unsigned long long held, unsigned long long size) noexcept
