import { expect, test } from 'vitest';
import { z } from 'zod';

import { busContracts, httpRoutes } from './all.ts';
import type { Contract } from './define.ts';
import type { RouteSpec } from './http/define.ts';
import { endpointsOf } from './route-errors.ts';

const endpoints = Object.entries<Contract>(busContracts).flatMap(([owner, contract]) =>
  Object.entries(contract.endpoints).map(
    ([name, endpoint]) => [`${owner}.${name}`, endpoint] as const,
  ),
);
const repeatableOf = new Map(endpoints.map(([name, { repeatable }]) => [name, repeatable]));

/**
 * Endpoints that need not be repeatable. `audit.verify` is a long scan, which a second request
 * would start again. A ping asks about the one replica that answers it, and its short deadline
 * leaves no time for a second request.
 */
const isExempt = (name: string) => name === 'audit.verify' || name.endsWith('.ping');
const readRoutes = Object.entries<RouteSpec>(httpRoutes).filter(
  ([, { method, path }]) => method === 'GET' && path.startsWith('/v1/'),
);

test.for(readRoutes)(
  'the read-only route %s is served by endpoints that are repeatable',
  ([, spec]) => {
    const checkedEndpoints = endpointsOf(spec).filter((name) => !isExempt(name));

    expect(checkedEndpoints.filter((name) => repeatableOf.get(name) === false)).toEqual([]);
  },
);

test.for(endpoints)(
  '%s gives a reason if it is repeatable although it writes an audit row',
  ([, endpoint]) => {
    const { request, repeatable } = endpoint;
    // An endpoint that writes an audit row takes the caller's address and request id in `context`.
    const writesAuditRow = request instanceof z.ZodObject && 'context' in request.shape;

    expect(writesAuditRow && repeatable === true).toBe(false);
  },
);

test.for(endpoints.filter(([, { repeatable }]) => typeof repeatable === 'object'))(
  '%s says why it may be called twice',
  ([, { repeatable }]) => {
    expect(repeatable).toMatchObject({ because: expect.stringMatching(/^\w.{20,}/) });
  },
);
