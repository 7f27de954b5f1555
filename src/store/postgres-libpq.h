/* postgres-libpq.h - libpq, found when a store of this kind is opened and not before: the command and the library
 * neither link nor load it otherwise. The types and prototypes are those of libpq-fe.h, so a wrong call does not
 * compile; only the addresses come at run time. A loadable module of our own in libexec would do the same, but the
 * library, which other languages load from anywhere, does not know where libexec is.
 */
#ifndef REC_STORE_POSTGRES_LIBPQ_H
#define REC_STORE_POSTGRES_LIBPQ_H

#include <libpq-fe.h>

#include "base/error.h"

/* clang-format off */
#define REC_LIBPQ_FUNCTIONS(X) \
	X(PQconninfoParse) X(PQconninfoFree) X(PQfreemem) X(PQconnectStartParams) X(PQconnectPoll) X(PQstatus) \
	X(PQsocket) X(PQfinish) X(PQerrorMessage) X(PQserverVersion) X(PQparameterStatus) X(PQconnectionNeedsPassword) \
	X(PQsendQuery) X(PQsendQueryParams) X(PQsendPrepare) X(PQsendQueryPrepared) X(PQsetSingleRowMode) \
	X(PQsetnonblocking) X(PQflush) X(PQconsumeInput) X(PQisBusy) X(PQgetResult) X(PQresultStatus) \
	X(PQresultErrorField) X(PQresultErrorMessage) X(PQclear) X(PQntuples) X(PQgetvalue) X(PQgetlength) \
	X(PQgetisnull) X(PQcmdStatus) X(PQtransactionStatus) X(PQenterPipelineMode) X(PQexitPipelineMode) \
	X(PQpipelineSync) X(PQnotifies) X(PQbackendPID) X(PQsetNoticeProcessor)
/* clang-format on */

struct rec_libpq {
#define REC_LIBPQ_POINTER(name) __typeof__(&(name)) name;
	REC_LIBPQ_FUNCTIONS(REC_LIBPQ_POINTER)
#undef REC_LIBPQ_POINTER
};

/* REC_E_UNSUPPORTED: it is not installed, or lacks a function. Once loaded it stays in the process. */
int rec_libpq_load(struct rec_libpq *ret, struct rec_error *error);

#endif
