import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { AppError } from '#errors';
import { attributesOf, collectSpans } from '../../test/support/collector.ts';
import { createStage, sendRequest } from '../neighbours.testing.ts';
import { createToolCall, postMcp, createStatelessRequest } from '../mcp/clients.testing.ts';

const newTraceId = () => randomUUID().replaceAll('-', '');
const createTraceparent = (traceId: string) => `00-${traceId}-00f067aa0ba902b7-01`;
const callPath = '/v1/actions/call';
const call = { service: 'github', action: 'list_issues' };

test('the trace of an authenticated REST caller is continued, and nobody else can have a request traced', async () => {
  await using stage = await createStage();
  await using gateway = await stage.gateway();
  stage.standIns.policy.decide = async () => {
    throw new AppError('unknown_service', 'that was enough');
  };
  stage.standIns.auth.signInWithPassword = async () => {
    throw new AppError('unauthenticated', 'that was enough');
  };
  const [traceId, strangersTraceId] = [newTraceId(), newTraceId()];
  const send = (headers: Record<string, string>) =>
    sendRequest(gateway.url, callPath, { token: stage.tokenFor(), body: call, headers });

  const spans = await collectSpans(
    async () => {
      await send({
        traceparent: createTraceparent(traceId),
        tracestate: 'vendor=state-of-the-caller',
        baggage: 'key=baggage-of-the-caller',
      });
      const headers = { traceparent: createTraceparent(strangersTraceId) };
      const body = { email: 'ada@example.com', password: 'CANARY-password' };
      await sendRequest(gateway.url, '/v1/sign-in', { body, headers });
      for (const traceparent of [
        'not a traceparent',
        createTraceparent('0'.repeat(32)),
        createTraceparent(`${newTraceId()}0`),
        `${createTraceparent(newTraceId())}, ${createTraceparent(newTraceId())}`,
        `cc-${newTraceId()}-00f067aa0ba902b7-01-${'x'.repeat(8_000)}`,
      ]) {
        await send({ traceparent });
      }
    },
    { sampleRatio: 0 },
  );

  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(JSON.stringify(spans)).not.toContain('of-the-caller');
  const request = spans.find(({ name }) => name === `POST ${callPath}`);
  expect(request).toMatchObject({ kind: 2, parentSpanId: '00f067aa0ba902b7' });
  expect(attributesOf(request!)).toEqual({
    'http.request.method': 'POST',
    'http.route': callPath,
    'http.response.status_code': 404,
  });
  // The span of the component that answers is inside the span of the component that asks.
  const [client, server] = [3, 2].map((kind) =>
    spans.find((span) => span.name === 'rpc.policy.v1.decide' && span.kind === kind),
  );
  expect(server?.parentSpanId).toBe(client?.spanId);
  for (const span of [client!, server!]) {
    expect(attributesOf(span)).toEqual({
      'rpc.system.name': 'nats',
      'rpc.method': 'policy.decide',
      'error.type': 'unknown_service',
    });
  }
});

test("the caller's trace is continued in the components, in every MCP version", async () => {
  await using stage = await createStage();
  await using gateway = await stage.gateway();
  const traceIds: (string | null)[] = [];
  stage.standIns.auth.createSubagent = async (request) => {
    traceIds.push(request.context.traceId);
    throw new Error('that was enough');
  };
  const traceId = newTraceId();
  const toolCall = createToolCall('service_auth', { operation: 'create_subagent', name: 'helper' });

  const spans = await collectSpans(
    async () => {
      for (const traceparent of [createTraceparent(traceId), ['x'], 'x'.repeat(100_000)]) {
        const params = {
          ...toolCall.params,
          _meta: { traceparent, tracestate: 'a=of-the-caller' },
        };
        await postMcp(gateway.url, stage.tokenFor(), { body: { ...toolCall, params } });
      }
      const params = {
        _meta: { traceparent: createTraceparent(traceId) },
        name: 'tool of-the-caller',
      };
      const otherMessage = { ...toolCall, method: 'tools/of-the-caller', params };
      await postMcp(gateway.url, stage.tokenFor(), { body: otherMessage });
      await postMcp(gateway.url, stage.tokenFor(), { body: { ...toolCall, params } });
      const statelessCall = createStatelessRequest('tools/call', toolCall.params);
      const { params: sent } = statelessCall.body as { params: { _meta: object } };
      Object.assign(sent._meta, { traceparent: createTraceparent(traceId) });
      await postMcp(gateway.url, stage.tokenFor(), statelessCall);
    },
    { sampleRatio: 0 },
  );

  expect(attributesOf(spans.find(({ name }) => name === 'POST /mcp')!)).toMatchObject({
    'mcp.method.name': 'tools/call',
    'gen_ai.tool.name': 'service_auth',
  });
  expect(traceIds).toHaveLength(4);
  expect(traceIds.filter((id) => id === traceId)).toHaveLength(2);
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(JSON.stringify(spans)).not.toContain('of-the-caller');
});
