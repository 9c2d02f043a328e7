import { readFile } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { usersOf } from '#bus';
import { busContracts } from '#contracts/all';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { metricDefinitions } from '../services-src/telemetry/metric-definitions.ts';
import type { MetricName } from '../services-src/telemetry/metric-definitions.ts';
import { alertDefinitions } from './alert-definitions.ts';
import { renderCatalogue } from './catalogue.ts';
import { renderChart, renderNatsChartValues } from './chart.ts';
import { renderEnvExample, renderNatsConf } from './generated.ts';
import {
  renderAlertRules,
  renderDashboard,
  renderMetricsPage,
  renderPrometheusConfig,
} from './monitoring.ts';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');

describe('generated files', () => {
  test.for<[path: string, render: () => string]>([
    ['deploy/nats.conf', renderNatsConf],
    ['.env.example', renderEnvExample],
    ['docs/services.md', renderCatalogue],
    ['docs/reference/metrics.md', renderMetricsPage],
    ['deploy/monitoring/alerts.yml', renderAlertRules],
    ['deploy/monitoring/dashboard.json', renderDashboard],
    ['deploy/monitoring/prometheus.yml', renderPrometheusConfig],
    ['deploy/nats-chart-values.yaml', renderNatsChartValues],
    ...[...renderChart()].map(([path, text]): [string, () => string] => [
      `deploy/helm/${path}`,
      () => text,
    ]),
  ])('%s is up to date (npm run generate)', async ([path, render]) => {
    expect(await read(path)).toBe(render());
  });
});

describe('the alert rules', () => {
  test('have unique names, and use only labels that their metrics have', () => {
    expect(new Set(alertDefinitions.map(({ name }) => name)).size).toBe(alertDefinitions.length);
    for (const { when, summary } of alertDefinitions) {
      const [, name = ''] = /\{([a-z_.]+)\}/.exec(when) ?? [];
      const metricLabels: readonly string[] = metricDefinitions[name as MetricName].labels;
      const knownLabels = [...metricLabels.map((label) => label.replaceAll('.', '_')), 'instance'];
      const usedLabels = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
      expect(knownLabels).toEqual(expect.arrayContaining(usedLabels));
    }
  });
});

test('every alert rule groups by the namespace of the installation', () => {
  for (const { name, when } of alertDefinitions) {
    const aggregations = when.match(/\b(sum|max|min|avg|count|group)\b[^(]*\(\w*/g) ?? [];
    expect([name, aggregations.length]).not.toEqual([name, 0]);
    for (const aggregation of aggregations) expect(aggregation).toMatch(/ by \(namespace$/);
  }
});

test('every graph of the dashboard shows the installation that the namespace selects', () => {
  const { panels, templating } = JSON.parse(renderDashboard());
  const selections = (panels as { targets: { expr: string }[] }[]).map(
    ({ targets }) => targets[0]?.expr.match(/\w\{namespace="\$namespace"\}/g)?.length,
  );

  expect(templating.list).toContainEqual(expect.objectContaining({ name: 'namespace' }));
  expect(selections).toEqual(
    Object.values(metricDefinitions).map(({ graph }) => graph.match(/\{[a-z_.]+\}/g)?.length),
  );
});

describe('the NATS permissions', () => {
  const publishOf = (component: Component) =>
    usersOf(component).flatMap(({ publishSubjects: publish }) => publish);

  test('allow no user the whole JetStream API or all subjects', () => {
    for (const component of components) {
      const users = usersOf(component);
      for (const subject of users.flatMap(
        ({ publishSubjects: publish, subscribeSubjects: subscribe }) => [...publish, ...subscribe],
      )) {
        expect(subject).not.toMatch(
          /^(>|\$JS\.(API\..*|>)|STORE\.API\.>|_INBOX\.>|rpc\.>|evt\.>)$/,
        );
      }
      expect(publishOf(component).filter((subject) => /^(evt|aud)\./.test(subject))).toEqual([
        `evt.${component}.>`,
        `aud.${component}.>`,
      ]);
    }
  });

  test('do not let one user both read the stream and answer requests', () => {
    for (const { publishSubjects: publish } of components.flatMap(usersOf)) {
      const isReader = publish.some((subject) => subject.includes('CONSUMER.MSG.NEXT'));
      expect(isReader && publish.includes('_R_.>')).toBe(false);
    }
  });

  test('allow only the components that the contracts name to call execute, replay and authenticate', () => {
    const mayCall = (subject: string) =>
      components.filter((component) => publishOf(component).includes(subject));

    expect(mayCall('rpc.executor.v1.execute')).toEqual(['gateway']);
    expect(mayCall('rpc.executor.v1.executeFrozen')).toEqual(['approvals']);
    expect(mayCall('rpc.policy.v1.permitReplay')).toEqual(['approvals']);
    expect(mayCall('rpc.auth.v1.authenticate')).toEqual(['gateway']);
  });
});

describe('the NATS accounts', () => {
  const conf = renderNatsConf();
  const exportedSubjects = [
    ...conf.matchAll(/(?:service|stream): (?:"|\{ account: \S+, subject: ")([^"]+)"/g),
  ].map(([, subject]) => subject ?? '');

  test('export only specific subjects, with a wildcard at most for the caller of an endpoint', () => {
    expect(exportedSubjects.length).toBeGreaterThan(300);
    for (const subject of exportedSubjects) {
      expect(subject).toMatch(
        /^(rpc\.\w+\.v\d+\.\w+\.(\*|c_\w+)|(evt|aud)\.\w+(\.\w+)*\.>|feed\.v1|gone\.gateway\.v1|beat\.executor\.v1|\$JS\.API\.(STREAM\.INFO\.(AUDIT|EVENTS)|CONSUMER\.(INFO|MSG\.NEXT)\.(AUDIT\.audit|EVENTS\.\w+)|DIRECT\.GET\.OBJ_files)|\$JS\.ACK\.(AUDIT\.audit|EVENTS\.\w+)\.>|\$O\.files\.C\.\*)$/,
      );
    }
  });

  test('export nothing to every account', () => {
    const exported = conf.match(/\{ (service|stream): ".*/g) ?? [];
    for (const line of exported) expect(line).toMatch(/accounts: \[c_\w+(, c_\w+)*\] \}$/);
  });

  test('allow answers that take longer than the caller with the longest timeout waits', () => {
    const execute = /"rpc\.executor\.v1\.execute\.\*".*response_threshold: "(\d+)s"/.exec(
      conf,
    )?.[1];
    expect(Number(execute) * 1000).toBeGreaterThan(
      busContracts.executor.endpoints.execute.timeoutMs,
    );
  });
});
