# SPDX-License-Identifier: GPL-2.0-or-later
# libsym-target is what the others look at.  Its flags are its own: no sanitizer, which would add
# functions, and a build-id that libsym-build-id.c knows.
if HAVE_CMOCKA
LIBSYM_TESTS = \
	tests/unit/libsym-build-id \
	tests/unit/libsym-kallsyms \
	tests/unit/libsym-name \
	tests/unit/libsym-resolver \
	tests/unit/libsym-symtab
check_PROGRAMS += $(LIBSYM_TESTS) tests/unit/libsym-target
TESTS += $(LIBSYM_TESTS)
endif
libsym_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libsym_test_ldadd = libsym/libsym.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_libsym_target_CFLAGS = -O0 -g -fno-stack-protector $(WARN_CFLAGS) -Wno-missing-prototypes
tests_unit_libsym_target_LDFLAGS = -no-install \
	-Wl,--export-dynamic-symbol=target_exported -Wl,--build-id=0x5eed0123456789abcdef5eed0123456789abcdef
tests_unit_libsym_build_id_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_build_id_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_kallsyms_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_kallsyms_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_symtab_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_symtab_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_name_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_name_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_resolver_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_resolver_LDADD = $(libsym_test_ldadd)
