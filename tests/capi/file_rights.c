/* Whose rights a file has that replaces another. */
#define _GNU_SOURCE /* setgroups, setresuid */

#include <errno.h>
#include <sys/xattr.h>

#include "file_replacing.h"

/* ---- Whose rights it has. */

static void nobody_else_may_open_the_part_of_a_private_file(void **state) {
    (void)state;
    const mode_t mask = umask(0);
    put_bytes("private", 1);
    assert_int_equal(chmod(path_of("private"), 0640), 0);
    for (int32_t made = 0; made < 2; ++made) {
        via_file *file =
            made ? create_with("private", VIA_UINT8, 1, SHAPE(BYTES), &whole) : open_with("private", &replacing);
        ok(write_bytes(file, 0, 8, 2));
        assert_int_equal(seen.made & 07777, 0600);
        assert_int_equal(seen.written & 07777, 0640);
        assert_int_equal(look_at("private").st_mode & 07777, 0640);
        via_file_release(file);
    }
    umask(mask);
}

static void write_shared(void) {
    via_file *file = NULL;
    CHECK(via_file_open(path_of("shared"), &replacing, &file) == VIA_OK);
    CHECK(write_bytes(file, 0, 8, 2) == VIA_OK);
    via_file_release(file);
}

static void make_shared(mode_t permissions) {
    put_bytes("shared", 1);
    assert_int_equal(chown(path_of("shared"), OWNER, GROUP), 0);
    assert_int_equal(chmod(path_of("shared"), permissions), 0);
}

static void a_member_of_the_group_leaves_the_file_to_it(void **state) {
    (void)state;
    if (!is_root()) {
        skip();
    }
    assert_int_equal(chmod(scratch, 0777), 0);
    make_shared(0664);
    assert_int_equal(as_other_user((const gid_t[]){GROUP}, 1, write_shared), 0);
    const struct stat found = look_at("shared");
    assert_int_equal(found.st_uid, OTHER);
    assert_int_equal(found.st_gid, GROUP);
    assert_int_equal(found.st_mode & 07777, 0664);
    assert_true(has_bytes("shared", 0, 8, 2) && has_bytes("shared", 8, BYTES - 8, 1));
}

static void a_group_that_cannot_be_kept_gives_its_rights_to_no_other(void **state) {
    (void)state;
    if (!is_root()) {
        skip();
    }
    static const mode_t before[] = {0676, 0642 | 04, 06777};
    static const mode_t after[] = {0666, 0646, 0777};
    assert_int_equal(chmod(scratch, 0777), 0);
    for (int32_t i = 0; i < LENGTH(before); ++i) {
        make_shared(before[i]);
        assert_int_equal(as_other_user(NULL, 0, write_shared), 0);
        const struct stat found = look_at("shared");
        assert_int_equal(found.st_gid, OTHER);
        assert_int_equal(found.st_mode & 07777, after[i]);
    }
}

/* What the kernel leaves of permissions at a write: root of a user namespace loses the set-user-ID bit by one. */
static mode_t left_by_a_write(mode_t permissions) {
    make_shared(permissions);
    const int file = open(path_of("shared"), O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(write(file, "", 1), 1);
    close(file);
    return look_at("shared").st_mode & 07777;
}

static void the_owner_of_a_file_that_root_writes_keeps_it(void **state) {
    (void)state;
    if (!is_root()) {
        skip();
    }
    const mode_t kept = left_by_a_write(04750);
    make_shared(04750);
    write_shared();
    const struct stat found = look_at("shared");
    assert_int_equal(found.st_uid, OWNER);
    assert_int_equal(found.st_gid, GROUP);
    assert_int_equal(found.st_mode & 07777, kept);
}

/* ---- Access lists, as the kernel keeps them: user::rw-, user:52000:rw-, group::r--, mask::rw-, other::---. */

typedef struct acl {
    uint32_t version;
    struct {
        uint16_t tag;
        uint16_t permissions;
        uint32_t id;
    } entries[5];
} acl;

static const acl some_acl = {
    2, {{1, 6, UINT32_MAX}, {2, 6, OTHER}, {4, 4, UINT32_MAX}, {0x10, 6, UINT32_MAX}, {0x20, 0, UINT32_MAX}}};
static const char acl_name[] = "system.posix_acl_access";

static void an_access_list_and_attributes_are_the_new_files_too(void **state) {
    (void)state;
    put_bytes("listed", 1);
    if (setxattr(path_of("listed"), acl_name, &some_acl, sizeof some_acl, 0) != 0 ||
        setxattr(path_of("listed"), "user.origin", "camera 7", 8, 0) != 0) {
        skip();
    }
    for (int32_t made = 0; made < 2; ++made) {
        via_file *file =
            made ? create_with("listed", VIA_UINT8, 1, SHAPE(BYTES), &whole) : open_with("listed", &replacing);
        ok(write_bytes(file, 0, 8, 2));
        via_file_release(file);
        acl found;
        char origin[16];
        assert_int_equal(getxattr(path_of("listed"), acl_name, &found, sizeof found), sizeof found);
        assert_memory_equal(&found, &some_acl, sizeof found);
        assert_int_equal(look_at("listed").st_mode & 07777, 0660);
        assert_int_equal(getxattr(path_of("listed"), "user.origin", origin, sizeof origin), 8);
        assert_memory_equal(origin, "camera 7", 8);
    }
}

/* New files get what the folder says; one that replaces another has what that one had. */
static void an_access_list_of_the_folder_does_not_reach_a_file_without(void **state) {
    (void)state;
    put_bytes("plain", 1);
    assert_int_equal(chmod(path_of("plain"), 0660), 0);
    if (setxattr(scratch, "system.posix_acl_default", &some_acl, sizeof some_acl, 0) != 0) {
        skip();
    }
    via_file *file = open_with("plain", &replacing);
    const via_status status = write_bytes(file, 0, 8, 2);
    via_file_release(file);
    assert_int_equal(removexattr(scratch, "system.posix_acl_default"), 0);
    assert_int_equal(status, VIA_OK);
    char found[64];
    assert_int_equal(getxattr(path_of("plain"), acl_name, found, sizeof found), -1);
    assert_int_equal(errno, ENODATA);
    assert_int_equal(look_at("plain").st_mode & 07777, 0660);
}

static void refuse_to_write_shared(void) {
    via_file *file = NULL;
    CHECK(via_file_open(path_of("shared"), &replacing, &file) == VIA_OK);
    CHECK(write_bytes(file, 0, 8, 2) == VIA_ERROR_IO);
    CHECK(via_last_error_code() == EPERM && holds_words(via_last_error(), "shared|access control list|group"));
    via_file_release(file);
}

static void an_access_list_whose_group_cannot_be_kept_is_refused(void **state) {
    (void)state;
    const int before = count_scratch();
    if (!is_root()) {
        skip();
    }
    assert_int_equal(chmod(scratch, 0777), 0);
    make_shared(0660);
    if (setxattr(path_of("shared"), acl_name, &some_acl, sizeof some_acl, 0) != 0) {
        skip();
    }
    assert_int_equal(as_other_user(NULL, 0, refuse_to_write_shared), 0);
    assert_true(has_bytes("shared", 0, BYTES, 1));
    assert_int_equal(unlink(path_of("shared")), 0);
    assert_true(count_scratch() <= before);
}

static void refuse_to_make_a_part(void) {
    via_file *file = NULL;
    CHECK(via_file_open(path_of("closed/file"), &replacing, &file) == VIA_OK);
    CHECK(write_bytes(file, 0, 8, 2) == VIA_ERROR_IO);
    CHECK(via_last_error_code() == EACCES && holds_words(via_last_error(), "closed/file|EACCES"));
    via_file_release(file);
    CHECK(via_file_create(path_of("closed/file"), VIA_UINT8, 1, SHAPE(8), &whole, &file) == VIA_ERROR_IO);
    CHECK(via_last_error_code() == EACCES);
}

static void a_folder_in_which_nothing_may_be_made_keeps_its_file(void **state) {
    (void)state;
    if (!is_root()) {
        skip();
    }
    assert_int_equal(chmod(scratch, 0777), 0);
    assert_int_equal(mkdir(path_of("closed"), 0755), 0);
    put_bytes("closed/file", 1);
    assert_int_equal(chmod(path_of("closed/file"), 0666), 0);
    const int ended = as_other_user(NULL, 0, refuse_to_make_a_part);
    const int kept = has_bytes("closed/file", 0, BYTES, 1);
    assert_int_equal(unlink(path_of("closed/file")), 0);
    assert_int_equal(rmdir(path_of("closed")), 0);
    assert_int_equal(ended, 0);
    assert_true(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nobody_else_may_open_the_part_of_a_private_file),
        TEST(a_member_of_the_group_leaves_the_file_to_it),
        TEST(a_group_that_cannot_be_kept_gives_its_rights_to_no_other),
        TEST(the_owner_of_a_file_that_root_writes_keeps_it),
        TEST(an_access_list_and_attributes_are_the_new_files_too),
        TEST(an_access_list_of_the_folder_does_not_reach_a_file_without),
        TEST(an_access_list_whose_group_cannot_be_kept_is_refused),
        TEST(a_folder_in_which_nothing_may_be_made_keeps_its_file),
    };
    return run_file_tests(tests);
}
