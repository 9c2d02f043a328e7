import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { needs } from '../test/support/needs.ts';
import { alertDefinitions } from './alert-definitions.ts';

const promtool = needs('promtool');
const pathOf = (file: string) => fileURLToPath(new URL(`monitoring/${file}`, import.meta.url));

test.skipIf(!promtool.isAvailable)(
  `Prometheus accepts the configuration and its alert rules${promtool.note}`,
  () => {
    const report = execFileSync('promtool', ['check', 'config', pathOf('prometheus.yml')], {
      encoding: 'utf8',
    });
    expect(report).toMatch(/SUCCESS: \d+ rules found/);
  },
);

/** The values of each series, one a minute, as `promtool test rules` writes them. */
type Series = Readonly<Record<string, string>>;
type Labels = Readonly<Record<string, string>>;

/** Longer than the time after which any rule fires. */
const minutes = 40;
const steadily = (value: number) => `${value}x${minutes}`;
const growingBy = (step: number) => `0+${step}x${minutes}`;
const untilMinute = (minute: number) => `0x${minute} stale`;

const readinessOf = (component: string, replica: number) =>
  `aag_check_failing{component="${component}", check="bus", instance="${component}-${replica}"}`;

/** An installation with two replicas of each component and much traffic, in which nothing is wrong. */
const healthy: Series = {
  ...Object.fromEntries(
    components.flatMap((component) =>
      [1, 2].map((replica) => [readinessOf(component, replica), steadily(0)]),
    ),
  ),
  'http_server_request_duration_count{http_response_status_code="200"}': growingBy(100_000),
  'http_server_request_duration_count{http_response_status_code="503"}': growingBy(1),
  'aag_calls_total{outcome="called"}': growingBy(100_000),
  'aag_calls_total{outcome="internal"}': growingBy(1),
  'aag_webhook_attempts_total{outcome="delivered"}': growingBy(100_000),
  'aag_webhook_attempts_total{outcome="failed"}': growingBy(1),
  'aag_breakers_open{component="executor"}': steadily(0),
  'aag_slots_used{pool="executor.calls"}': steadily(10),
  'aag_slots_limit{pool="executor.calls"}': steadily(100_000),
  'aag_approvals_oldest_age{}': steadily(60),
  'aag_outbox_oldest_age{component="policy"}': steadily(0),
  'aag_stream_fill{stream="AUDIT"}': steadily(0.1),
  'aag_consumer_unread_time{consumer="audit"}': steadily(0),
  'aag_webhook_lag{}': steadily(0),
  'db_client_connection_pending_requests{db_client_connection_pool_name="auth"}': steadily(0),
  'nodejs_eventloop_delay{quantile="0.99", instance="one"}': steadily(0.01),
};

type Alerts = Readonly<Record<string, Labels>>;

/** What differs in an installation that fails, and the alerts that fire for it. */
const failures: readonly [differences: Series, alerts: Alerts][] = [
  [
    {
      'http_server_request_duration_count{http_response_status_code="200"}': growingBy(10),
      'http_server_request_duration_count{http_response_status_code="503"}': growingBy(1),
    },
    { GatewayAnswersWithErrors: {} },
  ],
  [
    {
      'aag_calls_total{outcome="called"}': growingBy(10),
      'aag_calls_total{outcome="internal"}': growingBy(1),
    },
    { CallsAreNotServed: {} },
  ],
  [{ 'aag_breakers_open{component="executor"}': steadily(1) }, { UpstreamsDoNotAnswer: {} }],
  [
    {
      'aag_slots_used{pool="executor.calls"}': steadily(500),
      'aag_slots_limit{pool="executor.calls"}': steadily(512),
    },
    { SlotsNearlyUsed: { pool: 'executor.calls' } },
  ],
  [{ 'aag_approvals_oldest_age{}': steadily(20_000) }, { ApprovalsWaitLong: {} }],
  [
    { 'aag_outbox_oldest_age{component="policy"}': steadily(90) },
    { OutboxIsNotPublished: { component: 'policy' } },
  ],
  [{ 'aag_stream_fill{stream="AUDIT"}': steadily(0.6) }, { StreamFills: { stream: 'AUDIT' } }],
  [
    { 'aag_stream_fill{stream="AUDIT"}': steadily(0.9) },
    { StreamFills: { stream: 'AUDIT' }, StreamNearlyFull: { stream: 'AUDIT' } },
  ],
  [
    { 'aag_consumer_unread_time{consumer="audit"}': steadily(90) },
    { EventsAreNotRead: { consumer: 'audit' } },
  ],
  [
    {
      'aag_webhook_attempts_total{outcome="delivered"}': growingBy(1),
      'aag_webhook_attempts_total{outcome="failed"}': growingBy(10),
    },
    { WebhooksFail: {} },
  ],
  [{ 'aag_webhook_lag{}': steadily(600) }, { WebhooksAreLate: {} }],
  [
    { 'db_client_connection_pending_requests{db_client_connection_pool_name="auth"}': steadily(3) },
    { DatabasePoolIsUsedUp: { db_client_connection_pool_name: 'auth' } },
  ],
  [
    { [readinessOf('audit', 2)]: steadily(1) },
    { ComponentIsNotReady: { component: 'audit', check: 'bus' } },
  ],
  [
    { 'nodejs_eventloop_delay{quantile="0.99", instance="one"}': steadily(2) },
    { EventLoopIsBlocked: { instance: 'one' } },
  ],
  [
    {
      [readinessOf('executor', 1)]: untilMinute(20),
      [readinessOf('executor', 2)]: untilMinute(10),
    },
    { ComponentHasNoReplica: { component: 'executor' } },
  ],
  [
    Object.fromEntries(Object.keys(healthy).map((series) => [series, untilMinute(20)])),
    { NoMetrics: {} },
  ],
];

const inNamespace = (namespace: string, series: Series): Series =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => [
      name.replace('{', `{namespace="${namespace}", `),
      values,
    ]),
  );

/** The alerts that fire after the series, as promtool reports them; empty for the expected ones. */
function findOtherAlerts(series: Series, alerts: Alerts): string {
  const expected = Object.entries(alerts).map(([alertname, labels]) => {
    const severity = alertDefinitions.find(({ name }) => name === alertname)?.severity;
    const all = Object.entries({ alertname, alertstate: 'firing', severity, ...labels });
    return {
      labels: `ALERTS{${all.map(([label, value]) => `${label}="${value}"`).join(', ')}}`,
      value: 1,
    };
  });
  return runRules(series, {
    promql_expr_test: [
      {
        expr: 'ALERTS{alertstate="firing"}',
        eval_time: `${minutes}m`,
        exp_samples: expected,
      },
    ],
  });
}

/** Runs `promtool test rules`, and returns what it reports; empty for a success. */
function runRules(series: Series, expectations: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'alert-rules-'));
  try {
    const path = join(folder, 'test.json');
    const inputs = Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const ruleTest = { interval: '1m', input_series: inputs, ...expectations };
    // JSON is YAML.
    writeFileSync(path, JSON.stringify({ rule_files: [pathOf('alerts.yml')], tests: [ruleTest] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], {
      encoding: 'utf8',
    });
    return status === 0 ? '' : `${stdout}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const namedFailures = failures.map(
  ([differences, alerts]) => [Object.keys(alerts).join(' and '), differences, alerts] as const,
);

describe.skipIf(!promtool.isAvailable)(`the alert rules${promtool.note}`, () => {
  const bothHealthy = {
    ...inNamespace('production', healthy),
    ...inNamespace('staging', healthy),
  };

  test('are each tried with a failure', () => {
    expect(new Set(failures.flatMap(([, alerts]) => Object.keys(alerts)))).toEqual(
      new Set(alertDefinitions.map(({ name }) => name)),
    );
  });

  test('are silent while two installations are healthy', () => {
    expect(findOtherAlerts(bothHealthy, {})).toBe('');
  });

  test.for(namedFailures)(
    'name the one of two installations that fails: %s',
    ([, differences, alerts]) => {
      const series = { ...bothHealthy, ...inNamespace('staging', differences) };
      const named = Object.entries(alerts).map(([name, labels]) => [
        name,
        { namespace: 'staging', ...labels },
      ]);

      expect(findOtherAlerts(series, Object.fromEntries(named))).toBe('');
    },
  );

  test.for(namedFailures)(
    'notice the failure of an installation without the label namespace: %s',
    ([, differences, alerts]) => {
      expect(findOtherAlerts({ ...healthy, ...differences }, alerts)).toBe('');
    },
  );

  test('name the namespace in the summary', () => {
    const series = {
      ...bothHealthy,
      ...inNamespace('staging', { 'aag_stream_fill{stream="AUDIT"}': steadily(0.6) }),
    };
    const { firstSteps } = alertDefinitions.find(({ name }) => name === 'StreamFills') ?? {};
    const alert = {
      exp_labels: { namespace: 'staging', stream: 'AUDIT', severity: 'ticket' },
      exp_annotations: {
        summary: 'staging: The stream AUDIT is more than half full: its reader is behind.',
        description: firstSteps,
      },
    };
    const expectation = { eval_time: '10m', alertname: 'StreamFills', exp_alerts: [alert] };

    expect(runRules(series, { alert_rule_test: [expectation] })).toBe('');
  });

  test('are silent when a component has fewer replicas, or new ones', () => {
    const series = {
      ...healthy,
      [readinessOf('executor', 1)]: untilMinute(20),
      [readinessOf('audit', 1)]: untilMinute(20),
      [readinessOf('audit', 2)]: untilMinute(22),
      [readinessOf('audit', 3)]: `_x24 0x${minutes}`,
    };

    expect(findOtherAlerts(series, {})).toBe('');
  });

  test('are silent for a single process with all components', () => {
    const series = Object.fromEntries(
      Object.entries(healthy).filter(([name]) => !name.endsWith('-2"}')),
    );

    expect(findOtherAlerts(series, {})).toBe('');
  });

  test('notice a component that never reported, and a Prometheus that never saw an installation', () => {
    const withoutAudit = Object.fromEntries(
      Object.entries(healthy).filter(([name]) => !name.includes('component="audit"')),
    );

    expect(findOtherAlerts(withoutAudit, { ComponentHasNoReplica: { component: 'audit' } })).toBe(
      '',
    );
    expect(findOtherAlerts({ 'up{job="other"}': steadily(1) }, { NoMetrics: {} })).toBe('');
  });
});
