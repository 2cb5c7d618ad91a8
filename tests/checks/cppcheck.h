/* SPDX-License-Identifier: MIT */
/* Macros of libraries whose headers cppcheck is not shown, as it may take them. */
#define LIBBPF_OPTS(type, name, ...) struct type name = { __VA_ARGS__ }
#define json_array_foreach(a, i, v) for (i = 0; (v = json_array_get(a, i)) != 0; i++)
#define json_object_foreach(o, k, v) for (k = json_first(o, &v); k; k = json_next(o, &v))
#define json_object_foreach_safe(o, n, k, v) json_object_foreach (o, k, v)
