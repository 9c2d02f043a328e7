import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

import { loadConfig, settings } from '#config';
import type { Setting } from '#config';
import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { provisionConfig } from '../check-settings.ts';
import { variablesOf } from '../services-src/config/service-variables.testing.ts';
import {
  containersOf,
  environmentOf,
  everything,
  examples,
  minimal,
  podOf,
  podsByName,
  releaseOf,
  valueSets,
} from './chart-releases.testing.ts';
import { componentConfigs } from './component-configs.testing.ts';
import { interpolate, readComposeFile } from './compose-file.ts';
import { checkKubeObjects } from './helm-checks/check-kube-objects.ts';
import type { KubeObject } from './helm-checks/kube-object.ts';
import { renderChart, renderNotes } from './helm-checks/render-chart.ts';

const render = (values: object) => renderChart(releaseOf(values));

describe.for(valueSets)('the chart, installed with %s', ([, values]) => {
  let objects: readonly KubeObject[];
  beforeAll(async () => {
    objects = await render(values);
  });

  test('consists of objects that Kubernetes accepts, without any unknown field', async () => {
    expect(await checkKubeObjects(objects)).toEqual([]);
  });

  test('runs every container with limits, and without rights that the container does not need', () => {
    const number = expect.toSatisfy((user: number) => user > 0);
    const numbers =
      'podSecurity' in values ? {} : { runAsUser: number, runAsGroup: number, fsGroup: number };
    const pods = objects.filter((each) => podOf(each) !== undefined);
    expect(pods.length).toBeGreaterThanOrEqual(components.length + 1);
    for (const pod of pods) {
      expect(podOf(pod)?.spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      });
      expect(podOf(pod)?.spec.securityContext).toEqual({
        ...numbers,
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const { securityContext, resources } of containersOf(pod)) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        const amounts = { cpu: expect.any(String), memory: expect.stringMatching(/^\d+[MG]i$/) };
        expect(resources).toEqual({ requests: amounts, limits: amounts });
      }
    }
  });

  test('contains secret values only in Secrets', () => {
    const otherObjects = JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret'));
    const secrets = objects.filter(({ kind }) => kind === 'Secret').flatMap(readSecret);
    for (const [, value] of secrets) if (value !== '') expect(otherObjects).not.toContain(value);
    expect(objects.filter(({ kind }) => kind === 'ConfigMap')).toEqual([]);
    for (const { env } of objects.flatMap(containersOf)) {
      for (const { name } of env ?? []) {
        expect((settings as Record<string, Setting>)[name]?.secret).toBeUndefined();
      }
    }
  });
});

function readSecret({ data }: KubeObject): [key: string, value: string][] {
  return Object.entries(data as Record<string, string>).map(([key, value]) => [
    key,
    Buffer.from(value, 'base64').toString(),
  ]);
}

describe('the pods of the chart', () => {
  const { services } = readComposeFile();

  test.for<[values: { settings: Record<string, string> }, templatesDir: string]>([
    [minimal, ''],
    [{ ...everything, settings: examples }, '/srv/templates'],
  ])(
    'run the commands of compose with the variables of compose',
    async ([values, templatesDir]) => {
      const name = 'fullnameOverride' in values ? 'gw' : 'aag';
      const pods = podsByName(
        await render({ ...values, providerApps: {}, pod: {}, components: {} }),
      );

      expect([...pods.keys()].toSorted()).toEqual([...components, 'migrate'].toSorted());
      for (const [component, pod] of pods) {
        const { environment = {}, command } = services[component] ?? {};
        const variables = { ...values.settings, TEMPLATES_DIR: templatesDir };
        const expected = Object.entries(environment)
          .map(([variable, value]) => [variable, interpolate(String(value), variables)] as const)
          .map(([variable, value]) => [variable, value.replace(/^172\.31\.255\.2,/, '')] as const)
          .map(([variable, value]) => [
            variable,
            value.replace(/^(http:\/\/|)(?=gateway$|auth:)/, `$1${name}-`),
          ])
          .filter(([, value]) => value !== '');
        expect(environmentOf(pod)).toEqual(Object.fromEntries(expected));
        expect(pod.containers[0]?.args).toEqual(command);
      }
    },
  );

  test('get as much time to stop as SHUTDOWN_PAUSE_SECONDS requires', async () => {
    const pods = podsByName(await render(everything));

    expect(pods.get('gateway')?.terminationGracePeriodSeconds).toBe(55);
    expect(pods.get('auth')?.terminationGracePeriodSeconds).toBe(55);
    expect(pods.get('audit')?.terminationGracePeriodSeconds).toBe(45);
  });

  test('get that time also where a zero stands before the number', async () => {
    const settings = { ...minimal.settings, SHUTDOWN_PAUSE_SECONDS: '020' };
    const pods = podsByName(await render({ ...minimal, settings }));

    expect(pods.get('gateway')?.terminationGracePeriodSeconds).toBe(55);
  });

  test.for([
    ['an installation', minimal, 0],
    ['an evaluation', { evaluation: { enabled: true } }, 2],
  ] as const)('of %s all have the labels and annotations of pod', async ([, values, servers]) => {
    const pod = { labels: { team: 'actions' }, annotations: { note: 'on' } };
    const templates = (await render({ ...values, pod })).flatMap((each) => podOf(each) ?? []);

    expect(templates).toHaveLength(components.length + 1 + servers);
    for (const { metadata } of templates) expect(metadata).toMatchObject(pod);
  });

  test('get numbers in the form in which the values contain them', async () => {
    const numberSettings = {
      ...minimal.settings,
      CAP_FILES_BYTES: 4_294_967_296,
      RATE_USER_PER_MINUTE: 0,
    };
    const pods = podsByName(await render({ ...minimal, settings: numberSettings }));

    expect(environmentOf(pods.get('executor'))).toMatchObject({ CAP_FILES_BYTES: '4294967296' });
    expect(environmentOf(pods.get('gateway'))).toMatchObject({ RATE_USER_PER_MINUTE: '0' });
  });
});

describe('the values of a platform', () => {
  let objects: readonly KubeObject[];
  let pods: ReturnType<typeof podsByName>;
  const find = (kind: string, name: string) =>
    objects.find((each) => each.kind === kind && each.metadata.name === name);
  beforeAll(async () => {
    objects = await render(everything);
    pods = podsByName(objects);
  });

  test('label and annotate every object and pod, beside the labels of the chart', () => {
    expect(new Set(objects.map(({ kind }) => kind)).size).toBe(11);
    const templates = objects.flatMap((each) => podOf(each) ?? []);
    for (const { metadata } of [...objects, ...templates]) {
      expect(metadata).toMatchObject({
        labels: {
          'app.kubernetes.io/name': 'agent-action-gateway',
          'app.kubernetes.io/part-of': 'agents',
          team: expect.any(String),
        },
        annotations: { owner: 'platform@example.com' },
      });
    }
    // A hook remains one, and the annotations of the ingress remain.
    expect(find('Job', 'gw-migrate')?.metadata).toMatchObject({
      annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' },
    });
    expect(find('Ingress', 'gw')?.metadata).toMatchObject({
      annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
    });
  });

  test('change no selector, so that a release can be upgraded to them', async () => {
    const selectorsOf = (all: readonly KubeObject[]) =>
      all.flatMap(({ kind, metadata, spec }) => {
        const { selector, podSelector } = (spec ?? {}) as {
          selector?: object;
          podSelector?: object;
        };
        return selector || podSelector ? [[kind, metadata.name, selector, podSelector]] : [];
      });
    const { commonLabels: _, pod: __, components: ___, ...others } = everything;

    expect(selectorsOf(objects).length).toBeGreaterThan(3 * components.length);
    expect(selectorsOf(objects)).toEqual(selectorsOf(await render(others)));
  });

  test('of one component are merged with those of all pods, or replace them', () => {
    const executor = podOf(find('Deployment', 'gw-executor') as KubeObject);
    const audit = podOf(find('Deployment', 'gw-audit') as KubeObject);
    const own = everything.components.executor.pod;

    expect(executor?.metadata).toMatchObject({
      labels: { tier: 'calls', team: 'integrations' },
      annotations: { 'example.com/scan': 'yes', note: 'on', owner: 'platform@example.com' },
    });
    expect(executor?.spec).toMatchObject({
      nodeSelector: own.nodeSelector,
      tolerations: own.tolerations,
      affinity: own.affinity,
      priorityClassName: 'highest',
      topologySpreadConstraints: [
        {
          topologyKey: 'rack',
          labelSelector: {
            matchLabels: {
              'app.kubernetes.io/name': 'agent-action-gateway',
              'app.kubernetes.io/instance': 'aag',
              'app.kubernetes.io/component': 'executor',
            },
          },
        },
      ],
    });
    expect(audit?.metadata.labels).toMatchObject({ team: 'actions' });
    expect(audit?.metadata.labels).not.toHaveProperty('tier');
    const { nodeSelector, priorityClassName, topologySpreadConstraints } = everything.pod;
    expect(audit?.spec).toMatchObject({
      nodeSelector,
      priorityClassName,
      topologySpreadConstraints,
    });
    expect(pods.get('migrate')).toMatchObject({
      nodeSelector: { pool: 'jobs' },
      priorityClassName: 'high',
    });
  });

  test('of one component count where the same of all pods are null', async () => {
    const own = everything.components.executor.pod;
    const pod = Object.fromEntries(Object.keys(own).map((name) => [name, null]));
    const { spec, metadata } =
      (await render({ ...minimal, pod, components: { executor: { pod: own } } }))
        .filter((each) => each.metadata.name === 'aag-executor')
        .flatMap((each) => podOf(each) ?? [])[0] ?? {};

    expect(metadata).toMatchObject({ labels: own.labels, annotations: own.annotations });
    expect(spec).toMatchObject({ nodeSelector: own.nodeSelector, tolerations: own.tolerations });
    expect(environmentOf(spec)).toMatchObject({ TZ: 'Europe/Zurich' });
  });

  test('add variables and volumes to the pods of all components, and of one', () => {
    expect(pods.size).toBe(components.length + 1);
    for (const [name, pod] of pods) {
      const isExecutor = name === 'executor';
      expect(environmentOf(pod)).toMatchObject({ TZ: isExecutor ? 'Europe/Zurich' : 'UTC' });
      expect(environmentOf(pod)).toHaveProperty('OTEL_EXPORTER_OTLP_HEADERS');
      const paths = pod.containers[0]?.volumeMounts.map(({ mountPath }) => mountPath);
      expect(paths).toContain('/etc/authorities');
      expect(paths?.includes('/scratch')).toBe(isExecutor);
    }
  });

  test('give a component the identity of a cloud, or a service account that exists', () => {
    expect(find('ServiceAccount', 'gw-executor')).toMatchObject({
      metadata: { annotations: everything.components.executor.serviceAccount.annotations },
      automountServiceAccountToken: false,
    });
    expect(find('ServiceAccount', 'gw-audit')).toBeUndefined();
    expect(
      ['executor', 'audit', 'migrate'].map((name) => pods.get(name)?.serviceAccountName),
    ).toEqual(['gw-executor', 'existing', 'migrator']);
  });

  test('open the Service of the gateway to the outside, and no other', () => {
    expect(find('Service', 'gw-gateway')).toMatchObject({
      metadata: { annotations: { 'example.com/load-balancer': 'internal' } },
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'example.com/network',
        loadBalancerSourceRanges: ['192.0.2.0/24', '2001:db8::/32'],
        externalTrafficPolicy: 'Local',
        ports: [{ name: 'http', port: 8080, nodePort: 30_080 }],
      },
    });
    expect(find('Service', 'gw-auth')).toMatchObject({ spec: { type: 'ClusterIP' } });
  });

  test('lead requests for the host of the address in small letters, with or without a timeout', async () => {
    const settings = { BASE_URL: 'https://Gateway.Example.com' };
    const httpRoute = { enabled: true, parentRefs: [{ name: 'public' }], timeout: '' };
    const all = await render({ ...minimal, settings, ingress: { enabled: true }, httpRoute });
    const specOf = (kind: string) => all.find((each) => each.kind === kind)?.['spec'];

    expect(specOf('Ingress')).toMatchObject({ rules: [{ host: 'gateway.example.com' }] });
    expect(specOf('HTTPRoute')).toMatchObject({ hostnames: ['gateway.example.com'] });
    expect(JSON.stringify(specOf('HTTPRoute'))).not.toContain('timeouts');
    expect(find('HTTPRoute', 'gw')).toMatchObject({
      spec: { rules: [{ timeouts: { request: '0s', backendRequest: '0s' } }] },
    });
  });

  test('say how fast a component is scaled', () => {
    expect(find('HorizontalPodAutoscaler', 'gw-gateway')).toMatchObject({
      spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 600 } } },
    });
  });

  test('reach the servers of an evaluation, which get no variables and volumes', async () => {
    const { podSecurity, commonLabels, pod } = everything;
    const all = await render({ evaluation: { enabled: true }, podSecurity, commonLabels, pod });
    const servers = all.filter(({ kind }) => kind === 'StatefulSet');

    expect(await checkKubeObjects(all)).toEqual([]);
    for (const { metadata } of all) expect(metadata).toMatchObject({ labels: commonLabels });
    expect(servers).toHaveLength(2);
    for (const server of servers) {
      expect(podOf(server)?.spec).toMatchObject({ nodeSelector: pod.nodeSelector });
      expect(podOf(server)?.spec.securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(JSON.stringify(server)).not.toMatch(/OTEL_EXPORTER_OTLP_HEADERS|authorities/);
    }
  });
});

describe('an evaluation of the chart', () => {
  let objects: readonly KubeObject[];
  let folder: string;
  const secretOf = (name: string) =>
    Object.fromEntries(
      objects
        .filter(({ kind, metadata }) => kind === 'Secret' && metadata.name === name)
        .flatMap(readSecret),
    );
  beforeAll(async () => {
    objects = await render({ evaluation: { enabled: true } });
    folder = await mkdtemp(join(tmpdir(), 'aag-chart-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.for([...components, 'migrate'] as const)(
    'lets %s start, even if the namespace has other Services',
    async (name) => {
      const pod = podsByName(objects).get(name);
      const secretName = pod?.volumes.find(({ secret }) => secret)?.secret?.secretName ?? '';
      const secretsFolder = join(folder, name);
      await mkdir(secretsFolder);
      for (const [key, value] of Object.entries(secretOf(secretName))) {
        await writeFile(join(secretsFolder, key), value);
      }
      const services = objects.filter(({ kind }) => kind === 'Service');
      const link = { port: 8080, protocol: 'TCP', name: 'http' } as const;
      const environment = {
        ...Object.assign(
          {},
          ...[...services.map(({ metadata }) => metadata.name), 'gateway', 'auth', 'health'].map(
            (service) => variablesOf(service, '10.96.0.12', [link]),
          ),
        ),
        ...Object.fromEntries(
          Object.entries(environmentOf(pod)).map(([variable, value]) => [
            variable,
            value.replace('/run/secrets', secretsFolder),
          ]),
        ),
      };
      const spec = name === 'migrate' ? provisionConfig : componentConfigs[name];

      expect(loadConfig(spec, environment)).toMatchObject({
        NATS_URL: expect.stringMatching(/^nats:\/\/\w+:p\w{40}@aag-nats:4222$/),
      });
    },
  );

  test('generates a matching pair of decision keys, and gives clients and servers the same passwords', () => {
    const auth = secretOf('aag-auth');
    const nats = secretOf('aag-nats');

    expect(secretOf('aag-policy')['DECISION_PUBLIC_KEY']).toBe(
      publicKeyOf(auth['DECISION_KEY'] ?? ''),
    );
    expect(new URL(auth['AUTH_NATS_URL'] ?? '').password).toBe(nats['NATS_PASSWORD_AUTH']);
    expect(secretOf('aag-migrate')['AUTH_DATABASE_URL']).toBe(auth['AUTH_DATABASE_URL']);
    expect(new URL(secretOf('aag-migrate')['DATABASE_URL'] ?? '').password).toBe(
      secretOf('aag-postgres')['POSTGRES_PASSWORD'],
    );
  });

  test('generates different keys for each installation', async () => {
    const others = await render({ evaluation: { enabled: true } });
    const masterKeyOf = (all: readonly KubeObject[]) =>
      all
        .flatMap((each) => (each.kind === 'Secret' ? readSecret(each) : []))
        .find(([key]) => key === 'MASTER_KEY');

    expect(masterKeyOf(others)).not.toEqual(masterKeyOf(objects));
  });
});

describe('the chart is refused when it is installed', () => {
  test.for<[why: string, values: object, message: RegExp]>([
    ['without keys', { settings: minimal.settings }, /npm run --silent secrets -- --kubernetes/],
    ['without an address', { secrets: minimal.secrets }, /Set settings\.BASE_URL/],
    [
      'with keys for an evaluation',
      { ...minimal, evaluation: { enabled: true } },
      /leave secrets\.prefix empty/,
    ],
    ['with a misspelt setting', { ...minimal, settings: { LOG_LEVLE: 'warn' } }, /LOG_LEVLE/],
    ['with a secret in its values', { ...minimal, settings: { MASTER_KEY: 'x' } }, /MASTER_KEY/],
    [
      'with a route that names no Gateway',
      { ...minimal, httpRoute: { enabled: true } },
      /httpRoute\.parentRefs/,
    ],
    [
      'with names that a Service cannot have',
      { ...minimal, fullnameOverride: 'My Gateway' },
      /would begin with "My Gateway", .* set fullnameOverride to one of lower-case letters/,
    ],
    [
      'with an ingress for an address that names no host',
      { ...minimal, settings: { BASE_URL: 'https://:8443' }, ingress: { enabled: true } },
      /settings\.BASE_URL has no host/,
    ],
    [
      'with fewer replicas at most than at least',
      {
        ...minimal,
        components: { audit: { autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 } } },
      },
      /components\.audit\.autoscaling: minReplicas is 4 and must be maxReplicas \(3\) at most/,
    ],
    [
      'with a PodMonitor for metrics that pods do not serve',
      {
        ...minimal,
        settings: { ...minimal.settings, OTEL_METRICS_EXPORTER: 'otlp' },
        monitoring: { podMonitor: { enabled: true } },
      },
      /monitoring\.podMonitor .* settings\.OTEL_METRICS_EXPORTER is otlp/,
    ],
    [
      'with a label that the chart needs for its selectors',
      { ...minimal, commonLabels: { 'app.kubernetes.io/name': 'gateway' } },
      /The chart itself sets the label app\.kubernetes\.io\/name/,
    ],
    [
      'with a user of root',
      { ...minimal, podSecurity: { runAsNonRoot: false } },
      /runAsNonRoot is not allowed/,
    ],
  ])('%s', async ([, values, message]) => {
    await expect(render(values)).rejects.toThrow(message);
  });

  test('with a number as its name, unless fullnameOverride is set', async () => {
    const releaseName = '1234';
    await expect(renderChart({ ...releaseOf(minimal), releaseName })).rejects.toThrow(
      'set fullnameOverride',
    );
    const objects = await renderChart({
      ...releaseOf({ ...minimal, fullnameOverride: 'gateway' }),
      releaseName,
    });
    expect(await checkKubeObjects(objects)).toEqual([]);
  });

  test.for([
    'LOG_LEVEL',
    'HEALTH_PORT',
    'TEMPLATES_DIR',
    'MASTER_KEY',
    'MASTER_KEY_FILE',
    'AUDIT_DATABASE_URL',
    'OAUTH_GITHUB_CLIENT_SECRET',
    'OAUTH_GITHUB_CLIENT_SECRET_FILE',
  ])('with %s as an extra variable of all pods, or of one component', async (name) => {
    const pod = { extraEnv: [{ name, value: 'x' }] };
    const message = `sets ${name}, which belongs to the gateway itself`;

    await expect(render({ ...minimal, pod })).rejects.toThrow(message);
    await expect(render({ ...minimal, components: { audit: { pod } } })).rejects.toThrow(
      `components.audit.pod.extraEnv ${message}`,
    );
  });
});

describe('the network policies of the chart', () => {
  interface Policy {
    readonly podSelector: { readonly matchLabels: object };
    readonly ingress?: readonly object[];
    readonly egress?: readonly object[];
  }

  test.for(valueSets.slice(0, 4))(
    'select each pod exactly once, installed with %s',
    async ([, values]) => {
      const objects = await render(values);
      const policies = objects
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map(({ spec }) => spec as Policy);
      for (const labels of objects.flatMap((each) => podOf(each)?.metadata.labels ?? [])) {
        const selecting = policies.filter(({ podSelector }) =>
          Object.entries(podSelector.matchLabels).every(
            ([key, value]) => (labels as Record<string, unknown>)[key] === value,
          ),
        );
        expect(selecting).toHaveLength(1);
      }
    },
  );

  test('let migrate run under its own policy, and replace that of the release before', async () => {
    const hooks = (await render(minimal)).filter(({ metadata }) => metadata.name === 'aag-migrate');
    const annotations = hooks.map(({ kind, metadata }) => [kind, metadata['annotations']]);
    const hook = {
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    };

    expect(Object.fromEntries(annotations)).toEqual({
      Job: hook,
      NetworkPolicy: { ...hook, 'helm.sh/hook-weight': '-1' },
    });
  });

  test.for<[url: string, ports: readonly number[], port: number]>([
    ['http://otel:4317', [], 4317],
    ['https://otel.example.com/v1', [], 443],
    ['http://[fd00::1]', [], 80],
    ['http://otel:80', [4318], 4318],
  ])(
    'let pods reach the collector %s, with the ports %j, on port %i',
    async ([url, ports, port]) => {
      const settings = { ...minimal.settings, OTEL_EXPORTER_OTLP_ENDPOINT: url };
      const networkPolicy = { collector: { ports, to: [{ podSelector: {} }] } };
      const objects = await render({ ...minimal, settings, networkPolicy });
      const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
      const policy = policies.find(({ metadata }) => metadata.name === 'aag-audit');

      const rule = { ports: [{ port }], to: [{ podSelector: {} }] };
      expect(policy).toMatchObject({ spec: { egress: expect.arrayContaining([rule]) } });
    },
  );

  test('let components reach neither private addresses nor metadata addresses', async () => {
    const objects = await render(minimal);
    const blocksOf = (name: string) =>
      JSON.stringify(
        objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name),
      ).match(/"cidr":"[^"]+"|169\.254\.0\.0\/16|10\.0\.0\.0\/8/g) ?? [];

    expect(blocksOf('aag-executor').toSorted()).toEqual([
      '"cidr":"0.0.0.0/0"',
      '"cidr":"2000::/3"',
      '10.0.0.0/8',
      '169.254.0.0/16',
    ]);
    for (const name of ['gateway', 'policy', 'approvals', 'audit', 'migrate']) {
      expect(blocksOf(`aag-${name}`)).toEqual([]);
    }
  });
});

test('the notes of the chart say where the gateway is and how the first person signs in', async () => {
  const notes = await renderNotes(releaseOf({ evaluation: { enabled: true } }));

  expect(notes).toContain('port-forward service/aag-gateway 8080');
  expect(notes).toContain("grep 'Sign in'");
  expect(await renderNotes(releaseOf(minimal))).toContain('https://gateway.example.com');
});

test('every example of values in docs/kubernetes.md leads to objects that Kubernetes accepts', async () => {
  const page = await readFile(new URL('../docs/kubernetes.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    parseAllDocuments(block).map((each) => each.toJS()),
  );
  // The examples are plain values, the values in an Application of Argo CD, and the values in a
  // HelmRelease of Flux.
  const exampleValues = examples.flatMap(({ apiVersion, spec, ...values }) =>
    apiVersion === undefined ? values : (spec.source?.helm?.valuesObject ?? spec.values ?? []),
  );

  expect(exampleValues).toHaveLength(7);
  for (const values of exampleValues) {
    expect(await checkKubeObjects(await render({ ...minimal, ...values }))).toEqual([]);
  }
});
