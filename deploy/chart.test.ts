import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { loadConfig, settings, settingFamilies, settingVariables } from '#config';
import type { Setting } from '#config';
import { busContracts } from '#contracts/all';
import { components } from '#contracts/vocabulary';
import { processSettings } from '#process';
import { provisionConfig } from '../check-settings.ts';
import { schemaOwners } from '../provision.ts';
import { variablesOf } from '../services-src/config/service-variables.testing.ts';
import { natsServerOptions, natsStreamOptions } from '../services-src/embedded/index.ts';
import { renderChart, renderNatsChartValues } from './chart.ts';
import { readChartModel } from './chart-model.ts';
import type { ChartComponent } from './chart-model.ts';
import { componentConfigs } from './component-configs.testing.ts';
import { interpolate, readComposeFile } from './compose-file.ts';
import { makeComposeSecrets } from './compose-secrets.ts';

const model = readChartModel();
const { services } = readComposeFile();
const migrateAndComponents = [...model.components, model.migrate];
const settingOf = (name: string) => (settings as Record<string, Setting>)[name];

describe.for(migrateAndComponents)('the chart, for the process $name', (component) => {
  const environment = services[component.name]?.environment ?? {};

  test('sets exactly the variables that compose sets', () => {
    const variables = [...Object.keys(component.fixed), ...component.settings];
    const volumeVariables = component.readsTemplates ? ['TEMPLATES_DIR'] : [];

    expect([...variables, ...volumeVariables].toSorted()).toEqual(
      Object.keys(environment).toSorted(),
    );
  });

  test('sets the same fixed values as compose, with the names of its own Services as host names', () => {
    for (const [variable, value] of Object.entries(component.fixed)) {
      const composeValue = interpolate(String(environment[variable]), {});
      expect(value.replace('{release}-', '')).toBe(composeValue);
      expect(value.includes('{release}')).toBe(/^(gateway$|http:\/\/auth:)/.test(composeValue));
    }
  });

  test('passes secrets only as files, and only the secrets of this process', () => {
    expect(component.settings.filter((name) => settingOf(name)?.secret)).toEqual([]);
    const paths = Object.values(component.fixed).filter((value) => value.startsWith('/run/'));
    expect(paths.toSorted()).toEqual(
      component.secrets.map((key) => `/run/secrets/${key}`).toSorted(),
    );
    expect(component.secrets).toEqual(services[component.name]?.secrets);
  });
});

describe('a pod in a namespace that has other Services', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aag-chart-'));
    await mkdir(join(folder, 'secrets'));
    const existing = { EGRESS_PROXY: 'http://gateway:CANARY-proxy@proxy.internal:3128' };
    const secrets = makeComposeSecrets(components, () => randomBytes(32), { existing });
    for (const [name, value] of Object.entries(secrets)) {
      await writeFile(join(folder, 'secrets', name), value);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /**
   * The environment of a pod as the kubelet creates it. Variables of the pod replace those that
   * come from Services.
   */
  function environmentOf({ fixed, settings: names }: ChartComponent): Record<string, string> {
    const serviceNames = ['kubernetes', 'aag-gateway', 'aag-auth', ...components, 'nats', 'health'];
    const link = { port: 8080, protocol: 'TCP', name: 'http' } as const;
    const examples = names.map((name) => [name, settingOf(name)?.example ?? ''] as const);
    const own = Object.entries(fixed).map(
      ([name, value]) => [name, value.replace('{release}', 'aag').replace('/run', folder)] as const,
    );
    return {
      ...Object.assign({}, ...serviceNames.map((name) => variablesOf(name, '10.96.0.12', [link]))),
      ...Object.fromEntries([...examples, ...own]),
    };
  }

  test.for(model.components)(
    'has a complete and valid configuration if it runs $name',
    (component) => {
      const spec = componentConfigs[component.name as keyof typeof componentConfigs];
      const environment = environmentOf(component);
      const config: object = loadConfig(spec, environment);
      const ownConfig = loadConfig(
        { component: spec.component, names: processSettings },
        environment,
      );

      expect(ownConfig.HEALTH_PORT).toBe(component.healthPort);
      if ('BASE_URL' in config) expect(config.BASE_URL).toBe(settings.BASE_URL.example);
      if ('OAUTH_URL' in config) expect(config.OAUTH_URL).toBe('http://aag-auth:8081');
    },
  );

  test('has a complete and valid configuration if it runs the migration', () => {
    expect(loadConfig(provisionConfig, environmentOf(model.migrate))).toMatchObject({
      DATABASE_URL: expect.stringMatching(/^postgres:\/\/owner:/),
      NATS_REPLICAS: 3,
    });
  });
});

test('the chart refuses each variable that it sets itself as an extra variable', () => {
  const { settingVariables: names, settingFamilies: families } = parse(
    renderChart().get('model.yaml') ?? '',
  );
  const variables = migrateAndComponents.flatMap((each) => [
    ...Object.keys(each.fixed),
    ...each.settings,
  ]);

  expect(names).toEqual([...settingVariables]);
  expect(families).toEqual(settingFamilies.map(({ source }) => source));
  expect(names).toEqual(expect.arrayContaining([...variables, 'TEMPLATES_DIR']));
});

describe('the network policies of the chart', () => {
  const namesOf = (isSelected: (component: ChartComponent) => boolean) =>
    migrateAndComponents.filter(isSelected).map(({ name }) => name);

  test('let every component that answers or sends requests on the bus reach NATS', () => {
    const contracts = Object.values(busContracts);
    const busUsers = contracts.flatMap(({ owner, endpoints }) => [
      owner,
      ...Object.values(endpoints).flatMap(({ callers }) => callers),
    ]);

    expect(namesOf((each) => each.usesBus).toSorted()).toEqual(
      [...new Set<string>([...busUsers, 'migrate'])].toSorted(),
    );
  });

  test('let every owner of a schema reach Postgres, and so not the gateway', () => {
    expect(namesOf((each) => each.usesDatabase).toSorted()).toEqual(
      [...schemaOwners, 'migrate'].toSorted(),
    );
  });

  test('let those components reach the internet that send requests there', () => {
    expect(namesOf((each) => each.callsOut)).toEqual(
      components.filter((name) => componentConfigs[name].names.includes('EGRESS_PROXY')),
    );
  });

  test('let only the gateway call another component without the bus', () => {
    expect(namesOf((each) => each.calls.length > 0)).toEqual(['gateway']);
    expect(model.components.find(({ name }) => name === 'gateway')?.calls).toEqual([
      { name: 'auth', port: 8081 },
    ]);
    expect(namesOf((each) => each.listens !== null)).toEqual(['gateway', 'auth']);
  });
});

/** Merges values over the defaults of the chart: null removes a default. */
function mergeAsHelm(defaults: unknown, given: unknown): unknown {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap(defaults) || !isMap(given)) return given;
  const merged = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (value === null && name in defaults) delete merged[name];
    else merged[name] = name in defaults ? mergeAsHelm(defaults[name], value) : value;
  }
  return merged;
}

describe('the values of the chart', () => {
  const files = renderChart();
  const schema = JSON.parse(files.get('values.schema.json') ?? '') as object;
  const isValid = new Ajv({ allowUnionTypes: true }).compile(schema);
  /** As Helm reads them. */
  const values = parse(files.get('values.yaml') ?? '', { version: '1.1' });
  const isValidWith = (given: object) => isValid(mergeAsHelm(values, given));

  test('are valid without any change', () => {
    expect(isValid(values)).toBe(true);
  });

  test('contain every setting of compose, and no secret', () => {
    const composeSettings = migrateAndComponents.flatMap((each) => each.settings);
    expect(Object.keys(values.settings).toSorted()).toEqual(
      [...new Set(composeSettings)].toSorted(),
    );
    for (const name of Object.keys(values.settings))
      expect(settingOf(name)?.secret).toBeUndefined();
  });

  test.for<[what: string, given: object, isAccepted: boolean]>([
    ['a number', { CAP_FILES_BYTES: 4_294_967_296 }, true],
    ['a number as text', { RATE_IDENTITY_PER_MINUTE: '0' }, true],
    ['a word', { EGRESS_TRACE_CONTEXT: 'on' }, true],
    ['a word that YAML reads as a boolean', { EGRESS_TRACE_CONTEXT: true }, false],
    ['text for a number', { CAP_FILES_BYTES: '4 GiB' }, false],
    ['a misspelt setting', { LOG_LEVLE: 'warn' }, false],
    ['a secret', { MASTER_KEY: 'CANARY-key' }, false],
    ['a word in capitals', { LOG_LEVEL: 'WARN' }, true],
    ['another word', { LOG_LEVEL: 'verbose' }, false],
    ['a number below its limit', { RATE_IDENTITY_PER_MINUTE: -5 }, false],
    ['a number above its limit', { SHARE_ORG_PERCENT: 200 }, false],
    ['more copies than servers can hold', { NATS_REPLICAS: 7 }, false],
    ['a fraction', { OTEL_TRACES_SAMPLER_ARG: 0.25 }, true],
    ['a fraction above its limit', { OTEL_TRACES_SAMPLER_ARG: 1.5 }, false],
    ['a fraction of a whole number', { RATE_IDENTITY_PER_MINUTE: 0.5 }, false],
    ['an address without scheme', { BASE_URL: 'gateway.example.com' }, false],
    ['an address with a path', { BASE_URL: 'https://example.com/gateway' }, false],
    ['an address with a slash at its end', { BASE_URL: 'https://example.com:8443/' }, true],
    ['a collector without scheme', { OTEL_EXPORTER_OTLP_ENDPOINT: 'otel:4318' }, false],
  ])('with %s in a setting (%j): valid is %s', ([, given, isAccepted]) => {
    expect(isValidWith({ settings: { ...values.settings, ...given } })).toBe(isAccepted);
  });

  test('accept a revision of the secrets that is a number, as --set gives it', () => {
    expect(isValidWith({ secrets: { prefix: 'own', revision: 2 } })).toBe(true);
  });

  test.for<[what: string, given: object]>([
    ['no image', { image: { ...values.image, repository: '' } }],
    ['an unknown provider', { providerApps: { secret: '', clientIds: { githb: 'Ov23li' } } }],
    ['no replica', { components: { audit: { autoscaling: { enabled: true, minReplicas: 0 } } } }],
    ['an unknown value of a pod', { components: { audit: { pod: { nodeSelektor: {} } } } }],
    ['a variable without a name', { pod: { extraEnv: [{ value: 'x' }] } }],
    ['a number in a variable', { pod: { extraEnv: [{ name: 'TZ', value: 1 }] } }],
    ['a Service of auth for clients', { components: { auth: { service: { type: 'NodePort' } } } }],
    ['a wrong type of Service', { components: { gateway: { service: { type: 'Balancer' } } } }],
    [
      'a range that is no network',
      { components: { gateway: { service: { loadBalancerSourceRanges: ['192.0.2.1'] } } } },
    ],
    ['no CPU', { components: { audit: { autoscaling: { enabled: true, cpuPercent: 0 } } } }],
    ['a component with nothing below it', { components: { executor: null } }],
    ['no number of replicas', { components: { executor: { replicas: null } } }],
    ['network policies with nothing below them', { networkPolicy: null }],
    ['network policies neither on nor off', { networkPolicy: { enabled: null } }],
    ['all ports of NATS', { networkPolicy: { nats: { ports: [] } } }],
    ['the name of a port', { networkPolicy: { nats: { ports: ['client'] } } }],
    ['an address in place of a peer', { networkPolicy: { nats: { to: ['10.0.0.0/8'] } } }],
    [
      'an address that is no network',
      { networkPolicy: { internetExcept: { ipv4: ['34.1.1.1'] } } },
    ],
    ['a boolean as a label of nodes', { pod: { nodeSelector: { spot: true } } }],
    [
      'a boolean as an annotation',
      { components: { audit: { pod: { annotations: { a: false } } } } },
    ],
    ['a number as a label', { commonLabels: { 'cost-center': 4711 } }],
    ['a number as an annotation', { ingress: { annotations: { 'example.com/timeout': 600 } } }],
    ['the name of a Secret alone', { imagePullSecrets: ['registry'] }],
    ['a word as a toleration', { pod: { tolerations: ['spot'] } }],
    ['a volume without a name', { pod: { extraVolumes: [{ emptyDir: {} }] } }],
    ['a mount without a path', { pod: { extraVolumeMounts: [{ name: 'scratch' }] } }],
    ['a tag in the repository', { image: { repository: 'registry.example.com/gateway:1' } }],
    ['a digest without its algorithm', { image: { digest: 'a'.repeat(64) } }],
    ['an unknown pull policy', { image: { pullPolicy: 'always' } }],
    ['a prefix that no Secret can have', { secrets: { prefix: 'own: x' } }],
    ['several lines in a name', { pod: { priorityClassName: 'high\nhostNetwork: true' } }],
    ['a number as the time of a route', { httpRoute: { timeout: '60' } }],
    ['a number as the interval of metrics', { monitoring: { podMonitor: { interval: '30' } } }],
  ])('with %s are refused', ([, given]) => {
    expect(isValidWith(given)).toBe(false);
  });

  test.for<[what: string, given: object]>([
    ['no limit of CPU', { components: { gateway: { resources: { limits: { cpu: null } } } } }],
    ['none of the annotations of the ingress', { ingress: { annotations: null } }],
    ['empty maps and lists', { commonLabels: null, pod: { labels: null, tolerations: null } }],
    ['a registry with a port', { image: { repository: 'registry.example.com:5000/a/gateway' } }],
    ['a route without times', { httpRoute: { timeout: '' } }],
  ])('with %s are accepted', ([, given]) => {
    expect(isValidWith(given)).toBe(true);
  });

  test('can be given to the pods of one component', () => {
    const pod = { labels: { team: 'a' }, extraEnv: [{ name: 'TZ', value: 'UTC' }] };
    expect(isValidWith({ pod, components: { audit: { pod }, migrate: { pod } } })).toBe(true);
  });

  test('with an unknown name are refused', () => {
    expect(isValidWith({ evaluaton: { enabled: true } })).toBe(false);
  });
});

test('the values for the official NATS chart lead to three servers with the options of nats.conf, one on each node', () => {
  const { config, container, podTemplate } = parse(renderNatsChartValues(), { logLevel: 'error' });
  // As the chart writes its configuration.
  const written = (options: object) =>
    Object.entries(options).map(([name, value]) => [
      name,
      JSON.stringify(value).replace(/^"<< (.*) >>"$/, '$1'),
    ]);

  expect(config.cluster).toEqual({ enabled: true, replicas: 3 });
  expect(written(config.jetstream.merge)).toEqual(Object.entries(natsStreamOptions));
  expect(written(config.merge)).toEqual([
    ['00$include', '"accounts.conf"'],
    ...Object.entries(natsServerOptions),
  ]);
  expect(container.merge.resources).toEqual(
    model.servers.find(({ name }) => name === 'nats')?.resources,
  );
  expect(podTemplate.topologySpreadConstraints).toEqual({
    'kubernetes.io/hostname': { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' },
  });
});

test('an evaluation of the chart makes exactly the secrets that npm run secrets makes', () => {
  const { evaluation } = parse(renderChart().get('model.yaml') ?? '');
  const owners = [...migrateAndComponents, ...model.servers];
  const generatedSecrets = [
    ...evaluation.keys,
    'DECISION_KEY',
    'DECISION_PUBLIC_KEY',
    ...evaluation.passwords,
    ...evaluation.urls.map(({ key }: { key: string }) => key),
    ...evaluation.empty,
  ];

  expect(generatedSecrets).toEqual(
    expect.arrayContaining(owners.flatMap(({ secrets }) => secrets)),
  );
  const secrets = makeComposeSecrets(components, () => randomBytes(32));
  expect(generatedSecrets).toEqual(expect.arrayContaining(Object.keys(secrets)));
  for (const { key, scheme, user, password, place } of evaluation.urls) {
    const url = new URL(secrets[key] ?? '');
    expect(`${scheme}://${user}@${place}`).toBe(String(url).replace(/:[^:@]*@/, '@'));
    expect(generatedSecrets).toContain(password);
  }
});
