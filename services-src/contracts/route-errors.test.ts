import { describe, expect, test } from 'vitest';

import { httpRoutes } from './all.ts';
import type { EndpointName } from './all.ts';
import type { RouteSpec } from './http/define.ts';
import { edgeErrorsOf, endpointsOf, errorsOf, servedErrorsOf } from './route-errors.ts';

const routes = Object.entries<RouteSpec>(httpRoutes);

describe('the errors of a public route', () => {
  test('are those of the gateway, those of each bus endpoint that it serves, and its own', () => {
    const { publishTemplate, signIn, getLive } = httpRoutes;

    // `conflict` comes from policy.recordTemplate, `template_invalid` from
    // registry.publishTemplate.
    expect(errorsOf(publishTemplate)).toEqual(
      expect.arrayContaining(['too_large', 'unauthenticated', 'conflict', 'template_invalid']),
    );
    expect(errorsOf(signIn)).toEqual(expect.arrayContaining(['unauthenticated', 'forbidden']));
    expect(errorsOf(signIn)).not.toContain('insufficient_scope');
    expect(errorsOf(getLive)).toEqual(['invalid_request', 'internal', 'unavailable']);
  });

  test.for(routes)('of %s list only errors that do not follow from its endpoints', ([, spec]) => {
    const derivedCodes = [...edgeErrorsOf(spec), ...servedErrorsOf(spec)];

    expect((spec.errors ?? []).filter((code) => derivedCodes.includes(code))).toEqual([]);
  });

  test.for(routes)('of %s come from a list of endpoints without duplicates', ([, spec]) => {
    const endpoints = endpointsOf(spec);

    expect(new Set(endpoints).size).toBe(endpoints.length);
  });

  test('cannot be derived from an endpoint that does not exist', () => {
    // @ts-expect-error auth has no such endpoint
    const unknownEndpoint: EndpointName = 'auth.updateIdentities';

    expect(() => errorsOf({ ...httpRoutes.getMe, serves: unknownEndpoint })).toThrow(
      unknownEndpoint,
    );
  });
});
