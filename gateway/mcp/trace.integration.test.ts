import { randomUUID } from 'node:crypto';

import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';

import { createStage } from '../neighbours.testing.ts';
import { callTool, postMcp, stateless } from './clients.testing.ts';

test('the trace of a caller goes on in the components, over either kind of revision', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new TracerProvider());
  await using stage = await createStage();
  await using gateway = await stage.gateway();
  const traceIds: (string | null)[] = [];
  stage.neighbours.auth.createSubagent = async (request) => {
    traceIds.push(request.context.traceId);
    throw new Error('that was enough');
  };
  const traceId = randomUUID().replaceAll('-', '');
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const given = { operation: 'create_subagent', name: 'helper' };

  const call = callTool('service_auth', given);
  const params = { ...call.params, _meta: { traceparent } };
  await postMcp(gateway.url, stage.tokenFor(), { body: { ...call, params } });
  const modern = stateless('tools/call', call.params);
  const { params: sent } = modern.body as { params: { _meta: object } };
  Object.assign(sent._meta, { traceparent });
  await postMcp(gateway.url, stage.tokenFor(), modern);

  expect(traceIds).toEqual([traceId, traceId]);
});
