import { randomUUID } from 'node:crypto';

import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';

import { createStage } from '../neighbours.testing.ts';
import { createToolCall, postMcp, createStatelessRequest } from './clients.testing.ts';

test("the caller's trace continues in the components, in every MCP version", async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new TracerProvider());
  await using stage = await createStage();
  await using gateway = await stage.gateway();
  const traceIds: (string | null)[] = [];
  stage.standIns.auth.createSubagent = async (request) => {
    traceIds.push(request.context.traceId);
    throw new Error('that was enough');
  };
  const traceId = randomUUID().replaceAll('-', '');
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const toolArguments = { operation: 'create_subagent', name: 'helper' };

  const call = createToolCall('service_auth', toolArguments);
  const params = { ...call.params, _meta: { traceparent } };
  await postMcp(gateway.url, stage.tokenFor(), { body: { ...call, params } });
  const statelessCall = createStatelessRequest('tools/call', call.params);
  const { params: sent } = statelessCall.body as { params: { _meta: object } };
  Object.assign(sent._meta, { traceparent });
  await postMcp(gateway.url, stage.tokenFor(), statelessCall);

  expect(traceIds).toEqual([traceId, traceId]);
});
