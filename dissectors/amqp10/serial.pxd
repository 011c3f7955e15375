cpdef long long serial_add(long long number, long long steps) noexcept
cpdef long long serial_diff(long long later, long long earlier) noexcept
