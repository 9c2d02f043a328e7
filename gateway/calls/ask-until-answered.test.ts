import { describe, expect, test } from 'vitest';

import { LostConnectionError, createRepetitionBudget } from '#bus';
import { AppError } from '#errors';
import { askUntilAnswered } from './ask-until-answered.ts';

/** A call for which the test controls when executors answer and when their beats stop naming it. */
function startAsking({ budget = createRepetitionBudget() } = {}) {
  const requests: PromiseWithResolvers<string>[] = [];
  let silence = Promise.withResolvers<'silent'>();
  const answer = askUntilAnswered({
    askExecutor() {
      const request = Promise.withResolvers<string>();
      requests.push(request);
      return request.promise;
    },
    followedCall: {
      untilSilent: () => silence.promise,
      [Symbol.dispose]: () => undefined,
    },
    budget,
  });
  answer.catch(() => undefined);
  const waitOneTurn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    answer,
    count: () => requests.length,
    async fallSilent() {
      const { resolve } = silence;
      silence = Promise.withResolvers();
      resolve('silent');
      await waitOneTurn();
    },
    async answerWith(number: number, value: string | AppError) {
      if (typeof value === 'string') requests[number]?.resolve(value);
      else requests[number]?.reject(value);
      await waitOneTurn();
    },
  };
}

const inProgressError = new AppError('execution_in_progress', 'under way');
const noExecutorError = new AppError('unavailable', 'none', {
  details: { component: 'executor', lost: false },
});
const connectionLostError = new AppError('unavailable', 'lost', {
  details: { component: 'executor', lost: true },
  cause: new LostConnectionError(),
});
const lostAnswerError = { code: 'unavailable', details: { component: 'executor', lost: true } };

describe('a call that one executor answers', () => {
  test('is requested once', async () => {
    const call = startAsking();

    await call.answerWith(0, 'done');

    await expect(call.answer).resolves.toBe('done');
    expect(call.count()).toBe(1);
  });

  test.for([inProgressError, noExecutorError, new AppError('upstream_timeout', 'slow')])(
    'fails with its error $code',
    async (error) => {
      const call = startAsking();

      await call.answerWith(0, error);

      await expect(call.answer).rejects.toBe(error);
    },
  );
});

describe('a call that no executor reports as under way', () => {
  test('is answered by the next executor', async () => {
    const call = startAsking();

    await call.fallSilent();
    await call.answerWith(1, 'done');

    await expect(call.answer).resolves.toBe('done');
  });

  test('is answered by the first executor if this executor was only paused', async () => {
    const call = startAsking();

    await call.fallSilent();
    await call.answerWith(1, inProgressError);
    await call.answerWith(0, 'done');

    await expect(call.answer).resolves.toBe('done');
    expect(call.count()).toBe(2);
  });

  test('is answered by the next executor if the first one reads the request too late', async () => {
    const call = startAsking();

    await call.fallSilent();
    await call.answerWith(0, inProgressError);
    await call.answerWith(1, 'done');

    await expect(call.answer).resolves.toBe('done');
  });

  test('is answered by the executor that has the result, even if another executor refuses at the same moment', async () => {
    const call = startAsking();

    await call.fallSilent();
    await Promise.all([call.answerWith(1, inProgressError), call.answerWith(0, 'done')]);

    await expect(call.answer).resolves.toBe('done');
  });

  test.for([inProgressError, noExecutorError])(
    'counts as lost after two repetitions and a third silence if the other executors answer $code',
    async (error) => {
      const call = startAsking();

      await call.fallSilent();
      await call.answerWith(1, error);
      await call.fallSilent();
      await call.answerWith(2, error);
      await call.fallSilent();

      await expect(call.answer).rejects.toMatchObject(lostAnswerError);
      expect(call.count()).toBe(3);
    },
  );

  test('counts as lost if every executor answers with an error and one says that the call is under way', async () => {
    const call = startAsking();

    await call.fallSilent();
    await call.answerWith(0, inProgressError);
    await call.answerWith(1, noExecutorError);

    await expect(call.answer).rejects.toMatchObject(lostAnswerError);
  });

  test('fails with the error of the first executor if no executor accepted the call', async () => {
    const call = startAsking();

    await call.fallSilent();
    await call.answerWith(0, noExecutorError);
    await call.answerWith(1, noExecutorError);

    await expect(call.answer).rejects.toBe(noExecutorError);
  });

  test('is not requested again if the repetition budget is used up', async () => {
    const budget = createRepetitionBudget(() => 0);
    while (budget.spend());
    const call = startAsking({ budget });

    for (let round = 0; round < 5; round += 1) await call.fallSilent();
    await call.answerWith(0, 'done');

    await expect(call.answer).resolves.toBe('done');
    expect(call.count()).toBe(1);
  });
});

describe('a call whose connection was lost', () => {
  test('is requested again at once', async () => {
    const call = startAsking();

    await call.answerWith(0, connectionLostError);
    await call.answerWith(1, 'done');

    await expect(call.answer).resolves.toBe('done');
  });

  test('is requested once more after its executor, which was still running it, has ended it', async () => {
    const call = startAsking();

    await call.answerWith(0, connectionLostError);
    await call.answerWith(1, inProgressError);
    expect(call.count()).toBe(2);
    await call.fallSilent();
    await call.answerWith(2, 'done');

    await expect(call.answer).resolves.toBe('done');
  });

  test('counts as lost if no other executor accepts it, because it may have been sent', async () => {
    const call = startAsking();

    await call.answerWith(0, connectionLostError);
    await call.answerWith(1, noExecutorError);

    await expect(call.answer).rejects.toMatchObject(lostAnswerError);
  });
});
