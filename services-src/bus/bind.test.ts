import { expect, test } from 'vitest';
import { z } from 'zod';

import { defineContract } from '../contracts/define.ts';
import { bind } from './bind.ts';
import { deadlineIn } from './deadline.ts';
import type { Deadline } from './deadline.ts';
import type { Handlers } from './server.ts';

const contract = defineContract('audit', {
  greet: {
    request: z.object({ name: z.string() }),
    response: z.object({ greeting: z.string() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1000,
    repeatable: false,
  },
  ping: {
    request: z.object({}),
    response: z.object({}),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1000,
    repeatable: false,
  },
});
type Bound = Handlers<typeof contract>;

interface Deps {
  readonly polite: string;
}
const deps: Deps = { polite: 'Good morning' };
const greet = async ({ polite }: Deps, { name }: { name: string }) => ({
  greeting: `${polite}, ${name}`,
});
const ping = async () => ({});

test('a bound handler passes the dependencies, the request, the deadline and the caller to its use case', async () => {
  const handlerArguments: unknown[] = [];
  const handlers: Bound = bind(deps, {
    greet: async (given, request, deadline: Deadline, caller) => {
      handlerArguments.push(given, request, deadline, caller);
      return greet(given, request);
    },
    ping,
  });
  const deadline = deadlineIn(1000);

  await expect(handlers.greet({ name: 'Ada' }, deadline, 'gateway')).resolves.toEqual({
    greeting: 'Good morning, Ada',
  });
  expect(handlerArguments).toEqual([deps, { name: 'Ada' }, deadline, 'gateway']);
});

test('a missing endpoint, an unknown endpoint and a use case with the wrong parameters are type errors', () => {
  // @ts-expect-error ping is missing
  const boundWithMissing: Bound = bind(deps, { greet });
  // @ts-expect-error the contract has no endpoint `leave`
  const boundWithUnknown: Bound = bind(deps, { greet, ping, leave: ping });
  const boundWithOtherRequest: Bound = bind(deps, {
    // @ts-expect-error the request has no `id`
    greet: async (_given, { id }: { id: string }) => ({ greeting: id }),
    ping,
  });
  const boundWithUnsupplied: Bound = bind(deps, {
    // @ts-expect-error the dependencies have no `db`
    greet: async ({ db }: { db: string }) => ({ greeting: db }),
    ping,
  });
  expect([
    boundWithMissing,
    boundWithUnknown,
    boundWithOtherRequest,
    boundWithUnsupplied,
  ]).toHaveLength(4);
});
