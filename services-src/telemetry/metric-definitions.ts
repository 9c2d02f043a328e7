/**
 * All metrics. The documentation (docs/reference/metrics.md), the alert rules and the dashboard in
 * `deploy/monitoring` are generated from this table (`npm run generate`).
 *
 * Prometheus shows a name with `_` in place of `.`, and a counter with `_total` at the end. The
 * queries in this file name a metric as `{aag.calls}`, which stands for its name in Prometheus.
 */
export interface MetricDefinition {
  /**
   * `counter` and `histogram` are recorded when something happens. `gauge` and `total` are read when
   * the metrics are collected; a `total` only grows.
   */
  readonly kind: 'counter' | 'histogram' | 'gauge' | 'total';
  /** The unit in UCUM: `s`, `By`, `1` for a fraction, `{call}` for a number of calls. */
  readonly unit: string;
  readonly description: string;
  readonly labels: readonly LabelName[];
  /** The graph of the dashboard, in PromQL. */
  readonly graph: string;
}

interface LabelDefinition {
  readonly description: string;
  /** The most different values. None comes from a request: no ids, no names that people chose. */
  readonly valuesMax: number;
}

/** The labels that metrics have, and their values. */
export const labelDefinitions = {
  'http.request.method': { description: 'The method; `_OTHER` for an unusual one', valuesMax: 10 },
  'http.route': {
    description: 'The pattern of the route; empty for an unknown address',
    valuesMax: 250,
  },
  'http.response.status_code': {
    description: 'The status; 0 when there was no answer',
    valuesMax: 500,
  },
  'rpc.method': {
    description: 'The component and its bus endpoint, such as `policy.decide`',
    valuesMax: 250,
  },
  'error.type': {
    description: 'The [code](errors.md#codes) of the error; empty for a success',
    valuesMax: 60,
  },
  outcome: {
    description:
      '`called`, `pending_approval`, `denied`, or the [code](errors.md#codes) of the error; of a webhook `delivered`, `failed` or `gone`',
    valuesMax: 60,
  },
  layer: {
    description: '`transport`, `authentication`, `permission`, `execution` or `audit`',
    valuesMax: 5,
  },
  component: { description: 'The component', valuesMax: 8 },
  pool: {
    description:
      '`gateway.requests`, `gateway.streams`, `executor.calls`, or `bus.` and the component that handles requests',
    valuesMax: 11,
  },
  check: { description: 'The name of a [readiness check](../operating.md#health)', valuesMax: 12 },
  stream: { description: '`AUDIT` or `EVENTS`', valuesMax: 2 },
  consumer: { description: '`audit`, `notifier` or `policy`', valuesMax: 3 },
  'db.client.connection.pool.name': {
    description: 'The component that owns the pool',
    valuesMax: 8,
  },
  'db.client.connection.state': { description: '`used` or `idle`', valuesMax: 2 },
  quantile: { description: '`0.5`, `0.99` or `1`', valuesMax: 3 },
} as const satisfies Record<string, LabelDefinition>;
export type LabelName = keyof typeof labelDefinitions;

/** The upper bounds of histograms of durations, in seconds. */
export const durationBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

const quantileOver = (metric: string, label: string) =>
  `histogram_quantile(0.99, sum by (le, ${label}) (rate({${metric}}_bucket[5m])))`;

export const metricDefinitions = {
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    description:
      'Requests to the gateway, from their head to the end of the answer. Health checks are left out. Streams count when they end',
    labels: ['http.request.method', 'http.route', 'http.response.status_code', 'error.type'],
    graph: quantileOver('http.server.request.duration', 'http_route'),
  },
  'aag.calls': {
    kind: 'counter',
    unit: '{call}',
    description: 'Answered action calls, by outcome',
    labels: ['outcome'],
    graph: 'sum by (outcome) (rate({aag.calls}[5m]))',
  },
  'aag.call.layer.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'The time that a call spends in each layer, at the gateway',
    labels: ['layer', 'error.type'],
    graph: quantileOver('aag.call.layer.duration', 'layer'),
  },
  'rpc.server.call.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Requests over the bus, measured at the component that handles them',
    labels: ['rpc.method', 'error.type'],
    graph: quantileOver('rpc.server.call.duration', 'rpc_method'),
  },
  'http.client.request.duration': {
    kind: 'histogram',
    unit: 's',
    description:
      'Requests that left the installation: to services, providers, webhooks and documents',
    labels: ['http.request.method', 'http.response.status_code', 'error.type'],
    graph: quantileOver('http.client.request.duration', 'http_response_status_code'),
  },
  'aag.breakers.open': {
    kind: 'gauge',
    unit: '{upstream}',
    description:
      'Upstreams to which calls are paused because they did not answer. An upstream counts once per org',
    labels: ['component'],
    graph: 'sum by (component) ({aag.breakers.open})',
  },
  'aag.slots.used': {
    kind: 'gauge',
    unit: '{slot}',
    description: 'Used places for requests, streams and calls in flight',
    labels: ['pool'],
    graph: 'sum by (pool) ({aag.slots.used}) / sum by (pool) ({aag.slots.limit})',
  },
  'aag.slots.limit': {
    kind: 'gauge',
    unit: '{slot}',
    description: 'Total places for requests, streams and calls in flight',
    labels: ['pool'],
    graph: 'sum by (pool) ({aag.slots.limit})',
  },
  'aag.approvals.waiting': {
    kind: 'gauge',
    unit: '{approval}',
    description:
      'Approvals that wait for a person, in all orgs, counted up to 10,000. All replicas report the same',
    labels: [],
    graph: 'max({aag.approvals.waiting})',
  },
  'aag.approvals.oldest_age': {
    kind: 'gauge',
    unit: 's',
    description: 'The age of the oldest approval that waits for a person',
    labels: [],
    graph: 'max({aag.approvals.oldest_age})',
  },
  'aag.outbox.waiting': {
    kind: 'gauge',
    unit: '{event}',
    description: 'Events in an outbox that are not published yet, counted up to 10,000',
    labels: ['component'],
    graph: 'max by (component) ({aag.outbox.waiting})',
  },
  'aag.outbox.oldest_age': {
    kind: 'gauge',
    unit: 's',
    description: 'The age of the oldest event in an outbox that is not published yet',
    labels: ['component'],
    graph: 'max by (component) ({aag.outbox.oldest_age})',
  },
  'aag.stream.fill': {
    kind: 'gauge',
    unit: '1',
    description:
      'The used fraction of the bytes of a stream. When AUDIT is full, calls are refused',
    labels: ['stream'],
    graph: 'max by (stream) ({aag.stream.fill})',
  },
  'aag.consumer.waiting': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages in a stream that a durable consumer has not acknowledged',
    labels: ['consumer'],
    graph: 'max by (consumer) ({aag.consumer.waiting})',
  },
  'aag.consumer.unread_time': {
    kind: 'gauge',
    unit: 's',
    description: 'How long a durable consumer has taken no message although messages wait',
    labels: ['consumer'],
    graph: 'max by (consumer) ({aag.consumer.unread_time})',
  },
  'aag.webhook.attempts': {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts to deliver an event to a webhook',
    labels: ['outcome'],
    graph: 'sum by (outcome) (rate({aag.webhook.attempts}[5m]))',
  },
  'aag.webhook.due': {
    kind: 'gauge',
    unit: '{delivery}',
    description: 'Deliveries to webhooks that are due, counted up to 10,000',
    labels: [],
    graph: 'max({aag.webhook.due})',
  },
  'aag.webhook.lag': {
    kind: 'gauge',
    unit: 's',
    description: 'How long the oldest due delivery to a webhook has been due',
    labels: [],
    graph: 'max({aag.webhook.lag})',
  },
  'db.client.connection.count': {
    kind: 'gauge',
    unit: '{connection}',
    description: "Open connections of a component's pool at Postgres",
    labels: ['db.client.connection.pool.name', 'db.client.connection.state'],
    graph:
      'sum by (db_client_connection_pool_name, db_client_connection_state) ({db.client.connection.count})',
  },
  'db.client.connection.max': {
    kind: 'gauge',
    unit: '{connection}',
    description: "The most connections of a component's pool",
    labels: ['db.client.connection.pool.name'],
    graph: 'sum by (db_client_connection_pool_name) ({db.client.connection.max})',
  },
  'db.client.connection.pending_requests': {
    kind: 'gauge',
    unit: '{request}',
    description: 'Statements and transactions that wait for a connection of the pool',
    labels: ['db.client.connection.pool.name'],
    graph: 'max by (db_client_connection_pool_name) ({db.client.connection.pending_requests})',
  },
  'aag.check.failing': {
    kind: 'gauge',
    unit: '1',
    description: '1 while a readiness check fails, 0 while it passes',
    labels: ['component', 'check'],
    graph: 'max by (component, check) ({aag.check.failing})',
  },
  'nodejs.eventloop.delay': {
    kind: 'gauge',
    unit: 's',
    description: 'The delay of the event loop of the process since the metrics were last collected',
    labels: ['quantile'],
    graph: 'max by (quantile, instance) ({nodejs.eventloop.delay})',
  },
  'process.cpu.time': {
    kind: 'total',
    unit: 's',
    description: 'The CPU time of the process',
    labels: [],
    graph: 'rate({process.cpu.time}[5m])',
  },
  'process.memory.usage': {
    kind: 'gauge',
    unit: 'By',
    description: 'The memory of the process (RSS)',
    labels: [],
    graph: '{process.memory.usage}',
  },
} as const satisfies Record<string, MetricDefinition>;
export type MetricName = keyof typeof metricDefinitions;

/** The name of a metric in Prometheus. */
export function prometheusName(name: MetricName): string {
  const isCounter = ['counter', 'total'].includes(metricDefinitions[name].kind);
  return `${name.replaceAll('.', '_')}${isCounter ? '_total' : ''}`;
}
