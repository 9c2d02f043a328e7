import type { FollowedCall } from '#beats';
import { LostConnectionError, openOutstanding } from '#bus';
import type { RepetitionBudget } from '#bus';
import type { ErrorCode } from '#contracts/errors';
import { AppError } from '#errors';

interface AskOptions<T> {
  /** Asks an executor for the call; each time with the same permit. */
  readonly askExecutor: () => Promise<T>;
  readonly followedCall: FollowedCall;
  readonly budget: RepetitionBudget;
}

type Answer<T> = { readonly executed: T } | { readonly error: AppError };

const repetitionsMax = 2;
/** After two missed beats, and as much again for a busy machine, another executor is asked. */
const repeatAfterSilentMs = 1_500;
/**
 * After the last repetition, a call without a sign from any executor for this long counts as lost.
 * This is longer than the pause before a repetition, because an executor that was only paused may
 * still send the real answer.
 */
const lostAfterSilentMs = 5_000;

/**
 * Once a call has been asked for twice, these errors of one executor do not say what another
 * executor made of it: it still runs the call, or this one did not.
 */
const inconclusiveCodes: readonly ErrorCode[] = [
  'execution_in_progress',
  'unavailable',
  'rate_limited',
];

/**
 * Asks for a call until an executor answers. When no executor has named the call in its beats for a
 * while, its executor is probably dead, and another one is asked. That is safe, because of all
 * executors that get the same permit only the one that writes the dispatch row sends a non-read; the
 * others answer what became of it. A read may be sent twice, and is recorded once.
 *
 * When the connection to the bus was lost, another executor is asked as soon as there is a connection
 * again. If the first one still has the call in hand, its outcome is asked for when it no longer names
 * the call.
 *
 * After the last repetition, a further silence ends the call as a lost one.
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
 * The error when every executor that was asked has left the outcome open. If one of them may have
 * sent the call, its answer is lost.
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
