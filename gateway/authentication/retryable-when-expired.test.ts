import { expect, test } from 'vitest';

import { AppError } from '#errors';
import { makeExpiryRetryable } from './retryable-when-expired.ts';

const clientFailingWith = (code: 'unauthenticated' | 'not_in_your_chain') =>
  makeExpiryRetryable({
    get: () => Promise.reject(new AppError(code, 'Because.')),
  } as never) as unknown as {
    get(): Promise<unknown>;
  };

test('a component’s refusal of an expired principal becomes an error that the caller may retry', async () => {
  await expect(clientFailingWith('unauthenticated').get()).rejects.toMatchObject({
    code: 'unavailable',
  });
});

test('all other errors of a component are passed on unchanged', async () => {
  await expect(clientFailingWith('not_in_your_chain').get()).rejects.toMatchObject({
    code: 'not_in_your_chain',
  });
});
