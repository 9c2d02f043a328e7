import { describe, expect, test } from 'vitest';

import { metricDefinitions, prometheusName } from './metric-definitions.ts';
import type { MetricName } from './metric-definitions.ts';
import { areMetricsOn, count, observe, recordDuration, startDuration } from './metrics.ts';
import { startTelemetry } from './start.ts';

const startMetrics = () =>
  startTelemetry({
    serviceName: 'gateway-test',
    resourceAttributes: {
      'service.instance.id': 'pod-7',
      'deployment.environment.name': 'staging',
    },
    endpoint: undefined,
    sampleRatio: 0,
    metricsExporters: ['prometheus'],
  });

describe('metrics', () => {
  test('have the names in Prometheus that the alert rules and the dashboard use', async () => {
    await using telemetry = await startMetrics();
    using observations = new DisposableStack();
    for (const [key, { kind }] of Object.entries(metricDefinitions)) {
      // Every label is left out here, because only the names are compared.
      const name = key as never;
      if (kind === 'counter') count(name, {} as never);
      else if (kind === 'histogram') recordDuration(name, startDuration(), {} as never);
      else observations.use(observe(name, () => [{ value: 1, labels: {} as never }]));
    }

    const text = (await telemetry.renderMetrics?.()) ?? '';
    const shownNames = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);
    const names = Object.keys(metricDefinitions) as MetricName[];
    expect(shownNames.toSorted()).toEqual(['target_info', ...names.map(prometheusName)].toSorted());
    expect(text).toMatch(/^target_info\{.*service_name="gateway-test".*service_version="\d/m);
    expect(text).toMatch(/^target_info\{.*service_instance_id="pod-7"/m);
    expect(text).toMatch(/^target_info\{.*deployment_environment_name="staging"/m);
    expect(text).toMatch(/^nodejs_eventloop_delay\{quantile="0.99"\} \d/m);
  });

  test('count what is recorded while they are on, and read a value until it is no longer observed', async () => {
    await using telemetry = await startMetrics();
    count('aag.calls', { outcome: 'called' });
    count('aag.calls', { outcome: 'called' });
    count('aag.calls', { outcome: 'denied' });
    const labels = { pool: 'gateway.requests' };
    let used = 7;
    const observation = observe('aag.slots.used', () => [{ value: used, labels }]);

    const text = await telemetry.renderMetrics?.();
    expect(text).toContain('aag_calls_total{outcome="called"} 2\n');
    expect(text).toContain('aag_calls_total{outcome="denied"} 1\n');
    expect(text).toContain('aag_slots_used{pool="gateway.requests"} 7\n');
    observation[Symbol.dispose]();
    used = 8;
    expect(await telemetry.renderMetrics?.()).not.toContain('} 8\n');
  });

  test('are off unless they are exported, and read no values while they are off', async () => {
    await using telemetry = await startTelemetry({
      serviceName: 'gateway-test',
      endpoint: undefined,
      sampleRatio: 0,
      metricsExporters: ['otlp'],
    });

    expect(areMetricsOn()).toBe(false);
    expect(telemetry.renderMetrics).toBeUndefined();
    expect(startDuration()).toBe(0);
    count('aag.calls', { outcome: 'called' });
    const observation = observe('aag.slots.used', () => {
      throw new Error('read although metrics are off');
    });
    observation[Symbol.dispose]();
  });
});
