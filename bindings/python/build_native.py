"""Describes the module reconciler._native to cffi: the functions of reconciler.h and glue.h that the package calls.

Where the library comes from is decided here too (find_library), in this order:
  RECONCILER_BUILD=FOLDER   a build folder of reconciler's source tree: its libreconciler.a goes into the module
                            (with RECONCILER_LINK=shared, its libreconciler.so is linked instead)
  pkg-config libreconciler  an installed library of this very version
  the source tree around    built now with meson and ninja, without network
"""
import os
import pathlib
import shlex
import subprocess

from cffi import FFI

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent  # of reconciler's source, if this folder still lies in it
VERSION = "0.1.0"

# Types are completed by the compiler; only what Python reads is named.
DEFINITIONS = """
struct reconciler;
struct rec_watcher;
struct rec_error { int code; char message[1020]; ...; };
struct glue_text { char *bytes; size_t length; ...; };
struct glue_batch {
    const char *ids; size_t ids_length, id_count;
    const char *state; size_t state_length; const unsigned char *statuses; size_t state_count; ...;
};
struct glue_variant {
    const char *current_status, *external_status, *action, *reason, *source; int discrepancy, applied; ...;
};
struct glue_results {
    int32_t *variant_of; size_t count; struct glue_variant *variants; size_t variant_count; ...;
};
#define REC_ID_BYTES_MAX ...

const char *rec_version(void);
struct reconciler *rec_close(struct reconciler *reconciler);
const char *rec_location(const struct reconciler *reconciler);
int rec_task_delete(struct reconciler *reconciler, const char *task_id, struct rec_error *error);
int rec_blocker_answer(struct reconciler *reconciler, const char *blocker_id, const char *answer,
                       struct rec_error *error);
int rec_blocker_resolve(struct reconciler *reconciler, const char *blocker_id, struct rec_error *error);
struct rec_watcher *rec_watcher_free(struct rec_watcher *watcher);
int rec_watcher_believe(struct rec_watcher *watcher, const char *task_id, int status, struct rec_error *error);
int rec_watcher_descriptor(struct rec_watcher *watcher);
int rec_watcher_timeout_ms(struct rec_watcher *watcher);

void glue_text_release(struct glue_text *text);
int glue_open(const char *place, int64_t check_interval_ms, int mode, struct reconciler **ret_reconciler,
              struct rec_error *error);
void glue_warnings_to(struct reconciler *reconciler, struct glue_text *text);
int glue_check(struct reconciler *reconciler, int kind, int apply, const struct glue_batch *batch,
               const char *batch_id, struct glue_results *ret_results, struct rec_error *error);
int glue_results_ids(const struct glue_results *results, struct glue_text *text);
void glue_results_release(struct glue_results *results);
int glue_watcher_new(struct reconciler *reconciler, int kind, int apply, const struct glue_batch *batch,
                     int only_believed, const char *batch_id, struct rec_watcher **ret_watcher,
                     struct rec_error *error);
int glue_watcher_look(struct rec_watcher *watcher, struct glue_text *text, struct rec_error *error);
int glue_task_ids(struct reconciler *reconciler, unsigned status_mask, uint64_t limit, struct glue_text *text,
                  struct rec_error *error);
int glue_tasks_export(struct reconciler *reconciler, const char *ids, size_t ids_length, size_t id_count,
                      struct glue_text *text, struct rec_error *error);
int glue_task_import(struct reconciler *reconciler, const char *json, size_t length, struct rec_error *error);
int glue_task_set_status(struct reconciler *reconciler, const char *task_id, int status, int force, int *ret_current,
                         struct rec_error *error);
int glue_blocker_create(struct reconciler *reconciler, const char *task_id, const char *question,
                        const char *created_by, char *ret_id, struct rec_error *error);
int glue_blocker_get(struct reconciler *reconciler, const char *blocker_id, struct glue_text *text,
                     struct rec_error *error);
int glue_blocker_list(struct reconciler *reconciler, const char *task_id, int open_only, struct glue_text *text,
                      struct rec_error *error);
int glue_sqlite_of(const char *path);
int glue_sqlite_others(struct glue_text *text);
"""


def pkg_config(*words, folder=None):
    """What pkg-config answers, or None if it knows no such library (or is not there)."""
    environment = dict(os.environ)
    if folder:
        environment["PKG_CONFIG_PATH"] = str(folder)
    try:
        done = subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), *words], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        return None
    return shlex.split(done.stdout) if done.returncode == 0 else None


def flags(*words, folder=None):
    found = pkg_config(*words, folder=folder)
    if found is None:
        raise SystemExit(f"reconciler: pkg-config {' '.join(words)}: not known (install libsqlite3-dev and pkg-config)")
    return found


def from_build(build):
    """The library in a build folder of the source tree."""
    build = pathlib.Path(build).resolve()
    descriptions = build / "meson-uninstalled"
    include = [f"-I{TREE / 'include'}"]
    if os.environ.get("RECONCILER_LINK") == "shared":
        return include, [f"-L{build / 'src/lib'}", "-lreconciler", *flags("--libs", "sqlite3")]
    needed = flags("--print-requires-private", "libreconciler-uninstalled", folder=descriptions)
    names = sorted({name for name in needed if name[0].isalpha()} | {"sqlite3"})
    return include, [str(build / "src/lib/libreconciler.a"), "-Wl,--exclude-libs,ALL", *flags("--libs", *names)]


def build_tree():
    """Builds the library of the source tree around this package."""
    build = HERE / "build" / "library"
    if not (build / "build.ninja").exists():
        subprocess.run(["meson", "setup", "--buildtype=release", "-Dtests=disabled", str(build), str(TREE)], check=True)
    subprocess.run(["ninja", "-C", str(build), "src/lib/libreconciler.a"], check=True)
    return build


def find_library():
    """(compiler options, linker options)"""
    if os.environ.get("RECONCILER_BUILD"):
        return from_build(os.environ["RECONCILER_BUILD"])
    if pkg_config("--modversion", "libreconciler") == [VERSION]:
        return flags("--cflags", "libreconciler"), flags("--libs", "libreconciler", "sqlite3")
    if (TREE / "include/reconciler.h").exists():
        return from_build(build_tree())
    raise SystemExit(f"reconciler: the library {VERSION} was not found (install libreconciler-dev, or build this package "
                     "inside reconciler's source tree)")


def describe():
    compile_options, link_options = find_library()
    ffi = FFI()
    ffi.cdef(DEFINITIONS)
    ffi.set_source("reconciler._native", '#include "glue.h"', sources=["glue.c", "glue-sqlite.c"],
                   include_dirs=[str(HERE)], extra_compile_args=["-std=gnu17", "-D_GNU_SOURCE", *compile_options],
                   extra_link_args=link_options, libraries=[], depends=["glue.h"])
    return ffi


ffibuilder = describe()
