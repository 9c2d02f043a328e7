import { expect, test } from 'vitest';

import { openOutstanding } from './index.ts';

test('answers that arrive in the same turn of the event loop are taken one by one, and none is lost', async () => {
  const outstanding = openOutstanding<string>();
  const requests = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const;
  for (const { promise } of requests) outstanding.add(promise);
  const neverSettles = new Promise<never>(() => undefined);

  const first = outstanding.takeNext(neverSettles);
  requests[0].resolve('refused');
  requests[1].resolve('done');

  expect(await first).toEqual({ answer: 'refused' });
  expect(outstanding.size).toBe(1);
  expect(await outstanding.takeNext(neverSettles)).toEqual({ answer: 'done' });
  expect(outstanding.size).toBe(0);
});
