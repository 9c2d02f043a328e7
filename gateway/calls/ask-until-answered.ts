import type { FollowedCall } from '#beats';
import { LostConnectionError, openOutstanding } from '#bus';
import type { RepetitionBudget } from '#bus';
import type { ErrorCode } from '#contracts/errors';
import { AppError } from '#errors';

interface AskOptions<T> {
  /** Asks an executor to run the call; each time with the same permit. */
  readonly askExecutor: () => Promise<T>;
  readonly followedCall: FollowedCall;
  readonly budget: RepetitionBudget;
}

type Answer<T> = { readonly executed: T } | { readonly error: AppError };

const repetitionsMax = 2;
/**
 * Another executor is asked after this silence: two missed beats, and as much again because the
 * machine may be busy.
 */
const repeatAfterSilentMs = 1_500;
/**
 * After the last repetition, a call that no executor reports for this long counts as lost. This is
 * longer than the silence before a repetition, because an executor that was only paused may still
 * send the real answer.
 */
const lostAfterSilentMs = 5_000;

/**
 * When several executors were asked, these errors of one of them do not tell what happened at the
 * other: either another one still runs the call, or this one did not run it.
 */
const inconclusiveCodes: readonly ErrorCode[] = [
  'execution_in_progress',
  'unavailable',
  'rate_limited',
];

/**
 * Asks executors to run a call until one of them answers. When the beats of the executors have not
 * named the call for a while, its executor is probably dead, and another one is asked. This is
 * safe: of all executors that get the same permit, only the one that writes the dispatch row sends
 * a non-read. The others answer what became of the call. A read may be sent twice, but is recorded
 * once.
 *
 * When the connection to the bus was lost, another executor is asked as soon as the connection is
 * back. If the first executor is still running the call, the outcome is requested once the
 * executor's beats no longer name the call.
 *
 * If the executors stay silent after the last repetition, the call counts as lost.
 */
export async function askUntilAnswered<T>({
  askExecutor: ask,
  followedCall: followed,
  budget,
}: AskOptions<T>): Promise<T> {
  budget.count();
  const outstandingRequests = openOutstanding<Answer<T>>();
  const addRequest = () => outstandingRequests.add(toAnswer(ask()));
  addRequest();
  const inconclusiveErrors: AppError[] = [];
  let repetitions = 0;
  const repeatRequest = () => {
    if (repetitions === repetitionsMax || !budget.spend()) return;
    repetitions += 1;
    addRequest();
  };
  const waitUntilSilent = () =>
    followed.untilSilent(repetitions < repetitionsMax ? repeatAfterSilentMs : lostAfterSilentMs);
  let nextSilence = waitUntilSilent();
  let wasConnectionLost = false;

  for (;;) {
    const next = await outstandingRequests.takeNext(nextSilence);
    if ('other' in next) {
      if (repetitions === repetitionsMax) throw lostAnswerError();
      repeatRequest();
      nextSilence = waitUntilSilent();
      continue;
    }
    const { answer } = next;
    if ('executed' in answer) return answer.executed;
    const { error } = answer;
    if (error.cause instanceof LostConnectionError) {
      wasConnectionLost = true;
      repeatRequest();
    } else if (repetitions === 0 || !inconclusiveCodes.includes(error.code)) throw error;
    inconclusiveErrors.push(error);
    const mayBeAskedLater = wasConnectionLost && error.code === 'execution_in_progress';
    if (outstandingRequests.size === 0 && !mayBeAskedLater) throw combineErrors(inconclusiveErrors);
  }
}

async function toAnswer<T>(pendingRequest: Promise<T>): Promise<Answer<T>> {
  try {
    return { executed: await pendingRequest };
  } catch (thrown) {
    return { error: AppError.from(thrown) };
  }
}

/**
 * Returns the error if the outcome is still open after every executor that was asked has answered.
 * If one of them may have sent the call, the answer to the call is lost.
 */
function combineErrors(errors: readonly AppError[]): AppError {
  const mayHaveSentCall = ({ code, details }: AppError) =>
    code === 'execution_in_progress' || details['lost'] === true;
  const [firstError] = errors;
  return firstError === undefined || errors.some(mayHaveSentCall) ? lostAnswerError() : firstError;
}

function lostAnswerError(): AppError {
  return new AppError('unavailable', 'The executor that had the call did not answer.', {
    details: { component: 'executor', lost: true },
  });
}
