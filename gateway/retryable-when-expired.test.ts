import { expect, test } from 'vitest';

import { AppError } from '#errors';
import { retryableWhenExpired } from './retryable-when-expired.ts';

const answering = (code: 'unauthenticated' | 'not_in_your_chain') =>
  retryableWhenExpired({
    get: () => Promise.reject(new AppError(code, 'Because.')),
  } as never) as unknown as {
    get(): Promise<unknown>;
  };

test('a principal that was read too late is no failure of the caller', async () => {
  await expect(answering('unauthenticated').get()).rejects.toMatchObject({ code: 'unavailable' });
});

test('every other refusal is passed on', async () => {
  await expect(answering('not_in_your_chain').get()).rejects.toMatchObject({
    code: 'not_in_your_chain',
  });
});
