/* pass.h - one `fetch`: links in, observations out, the HTTP requests between as values. No I/O, no clock: whoever
 * drives it sends what gh_pass_next asks for and hands the answer to gh_pass_answer.
 *
 * How links are asked about, cheapest first:
 * - three or more links of one repository: its listing since a moment that is held fixed, one conditional request; what
 *   the listing does not hold is unchanged. The cursor of the repository keeps the moment and the entity tag.
 * - fewer: one conditional request each. A 304 costs no budget.
 * - links of a listed repository that the listing does not cover (new ones; after an hour all of them, since a deleted
 *   or transferred issue just vanishes from a listing), and more than ten single ones: GraphQL, a hundred in one
 *   request of one point.
 *
 *     gh_pass_new(..., &pass);
 *     while ((r = gh_pass_next(pass, elapsed_ms, &ask)) == 0) {
 *             send ask, fill response;
 *             if ((r = gh_pass_answer(pass, &response, now_us)) < 0) break;
 *     }
 *     if (r == REC_END) r = gh_pass_finish(pass, &answer);
 *     gh_pass_free(pass);
 */
#ifndef REC_GITHUB_PASS_H
#define REC_GITHUB_PASS_H

#include "github/ask.h"
#include "github/hold.h"
#include "github/protocol.h"

#define GH_LISTING_LINKS_MIN 3   /* so many links of one repository are worth its listing */
#define GH_SINGLES_MAX 10        /* more single links than that are asked in a batch */
#define GH_LISTING_ITEMS_HELD 50 /* a page with more changes than that moves the cursor on */
#define GH_PAGES_MAX 100
#define GH_LAG_S 60         /* how far GitHub's own replicas and clocks may be behind one another */
#define GH_VERIFY_S 3600    /* links of listed repositories are read themselves so often */
#define GH_HOLD_S 600       /* a link that was refused (403, 451) is looked at again after that */
#define GH_OUTAGES_MAX 3    /* in a row: the rest of the pass is not asked */
#define GH_FALLBACK_MAX 100 /* so many links are asked singly where GraphQL did not answer */
#define GH_TURN_KEY "turn"  /* of the cursor that keeps where single reads go on */

struct gh_pass;
/* The request and the place must outlive the pass. with_token: GraphQL can be used. holds
 * may be NULL. now_us: our clock.
 * 0 or REC_E_NOMEM. */
int gh_pass_new(const struct rec_allocator *a, const struct gh_place *place, const struct gh_request *request,
		bool with_token, struct gh_holds *holds, int64_t now_us, struct gh_pass **ret_pass);
struct gh_pass *gh_pass_free(struct gh_pass *pass);

/* The next request to send, valid until the answer is given; elapsed_ms: since gh_pass_new, by a monotonic clock.
 * 0; REC_END: nothing more is to be asked; REC_E_NOMEM. */
int gh_pass_next(struct gh_pass *pass, int64_t elapsed_ms, const struct gh_ask **ret_ask);
/* The answer to it. 0 or REC_E_NOMEM. */
int gh_pass_answer(struct gh_pass *pass, const struct gh_response *response, int64_t now_us);
/* What was found: one observation for each asked link, in the order asked. At any moment (what was not asked is
 * unknown). Lives as long as the pass. 0 or REC_E_NOMEM. */
int gh_pass_finish(struct gh_pass *pass, struct gh_answer *ret_answer);

/* For accounting: requests sent, 304s among the answers, points taken from the budget. */
struct gh_pass_costs {
	uint64_t requests, unchanged, points;
};
struct gh_pass_costs gh_pass_costs(const struct gh_pass *pass);

#endif
