/** A request stays open for seven days. */
export const requestTtlSeconds = 7 * 86_400;

const openRequestsMax = { agent: 5, user: 20 };
/**
 * `subtree`: the requests of one agent with its subagents. `user`: those of all agents of a user,
 * or of the user alone.
 */
const requestsPerDayMax = { subtree: 10, user: 20 };

interface LimitCounts {
  readonly ofRequester: number;
  readonly requesterSeconds: number;
  readonly ofUser: number;
  readonly userSeconds: number;
  readonly ofDay: number;
  readonly daySeconds: number;
  readonly ofSubtreeDay: number;
  readonly subtreeDaySeconds: number;
}

/**
 * The limit that one more request would exceed, with the time until the limit allows a request
 * again; null when another request is allowed (docs/reference/requests.md#request-limits).
 */
export function findExceededLimit(
  counts: LimitCounts,
  { isUser }: { readonly isUser: boolean },
): { message: string; retryAfterSeconds: number } | null {
  const { ofRequester, requesterSeconds, ofUser, userSeconds, ofDay, daySeconds } = counts;
  const { ofSubtreeDay, subtreeDaySeconds } = counts;
  if (!isUser && ofRequester >= openRequestsMax.agent) {
    return {
      message: `You have ${openRequestsMax.agent} open requests; wait until one is answered, or cancel one.`,
      retryAfterSeconds: requesterSeconds,
    };
  }
  const possessorWords = isUser ? 'You have' : 'The agents of your user have';
  if (ofUser >= openRequestsMax.user) {
    return {
      message: `${possessorWords} ${openRequestsMax.user} open requests; wait until one is answered, or cancel one.`,
      retryAfterSeconds: userSeconds,
    };
  }
  if (ofDay >= requestsPerDayMax.user) {
    return {
      message: `${possessorWords} made ${requestsPerDayMax.user} requests within a day; wait.`,
      retryAfterSeconds: daySeconds,
    };
  }
  if (!isUser && ofSubtreeDay >= requestsPerDayMax.subtree) {
    return {
      message: `You and your subagents have made ${requestsPerDayMax.subtree} requests within a day; wait. Those that you took back count.`,
      retryAfterSeconds: subtreeDaySeconds,
    };
  }
  return null;
}
