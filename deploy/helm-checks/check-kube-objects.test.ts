import { expect, test } from 'vitest';

import { checkKubeObjects } from './check-kube-objects.ts';
import type { KubeObject } from './kube-object.ts';

const labels = { 'app.kubernetes.io/name': 'tiny' };

const makeContainer = () => ({
  name: 'tiny',
  image: 'example.com/tiny:1',
  env: [
    { name: 'PORT', value: '8080' },
    { name: 'HEADERS', valueFrom: { secretKeyRef: { name: 'collector', key: 'headers' } } },
  ],
  ports: [{ name: 'http', containerPort: 8080 }],
  resources: { limits: { cpu: 1, memory: '64Mi' } },
  readinessProbe: { httpGet: { path: '/health/ready', port: 'http' } },
  volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
});

const makePod = () => ({
  metadata: { labels, annotations: { 'example.com/any': 'Any text, of any length.' } },
  spec: {
    containers: [makeContainer()],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } }],
    tolerations: [{ key: 'spot', operator: 'Exists', tolerationSeconds: 60 }],
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: labels },
      },
    ],
  },
});

const makeDeployment = () => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'r-tiny', namespace: 'n', labels },
  spec: { replicas: 2, selector: { matchLabels: labels }, template: makePod() },
});

const otherObjects: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'r' }, data: { 'nats.conf': 'a: 1' } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'r' }, stringData: { MASTER_KEY: 'x' } },
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'r', annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/r' } },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'r' },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'example.com/network',
      externalTrafficPolicy: 'Local',
      selector: labels,
      ports: [{ name: 'http', port: 80, targetPort: 'http', nodePort: 30_080 }],
    },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'r', annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' } },
    spec: { template: { spec: { ...makePod().spec, restartPolicy: 'Never' } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'r' },
    spec: {
      serviceName: 'r',
      selector: { matchLabels: labels },
      template: { ...makePod(), spec: { containers: [makeContainer()] } },
      volumeClaimTemplates: [
        {
          metadata: { name: 'tmp' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'r' },
    spec: {
      ingressClassName: 'nginx',
      tls: [{ hosts: ['gateway.example.com'], secretName: 'r-tls' }],
      rules: [
        {
          host: 'gateway.example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'r', port: { name: 'http' } } },
              },
            ],
          },
        },
      ],
    },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'r' },
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
  },
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'r' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'r-tiny' },
      maxReplicas: 4,
      behavior: {
        scaleDown: {
          stabilizationWindowSeconds: 600,
          policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
        },
      },
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
        },
      ],
    },
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'r' },
    spec: { maxUnavailable: '50%', selector: { matchLabels: labels } },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'r' },
    spec: {
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [
        {
          to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }],
          ports: [{ port: 443, protocol: 'TCP' }],
        },
      ],
    },
  },
  {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: { name: 'r' },
    spec: { selector: { matchLabels: labels }, endpoints: [{ port: 'health', interval: '30s' }] },
  },
  {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'r' },
    spec: {
      groups: [
        {
          name: 'tiny',
          rules: [
            { alert: 'Down', expr: 'up == 0', for: '5m', labels: { team: 'the on-call one' } },
          ],
        },
      ],
    },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'r' },
    spec: {
      parentRefs: [{ name: 'public' }],
      hostnames: ['gateway.example.com'],
      rules: [{ backendRefs: [{ name: 'r', port: 80 }], timeouts: { request: '0s' } }],
    },
  },
];

test('checkKubeObjects accepts objects of every kind that a chart needs', async () => {
  expect(await checkKubeObjects([makeDeployment(), ...otherObjects])).toEqual([]);
});

/** Sets a field at a path of a value, or removes it. */
function setField(value: unknown, path: string, field: unknown): void {
  const names = path.split('/').slice(1);
  const lastName = names.pop() ?? '';
  let parent = value as Record<string, unknown>;
  for (const name of names) parent = parent[name] as Record<string, unknown>;
  if (field === undefined) delete parent[lastName];
  else parent[lastName] = field;
}

const container = '/spec/template/spec/containers/0';

test.for([
  ['/spec/replica', 2, '/spec/replica is not a known field'],
  // Wrong types, wrong values and missing fields
  ['/spec/replicas', '2', '/spec/replicas must be integer'],
  ['/metadata/namespace', false, '/metadata/namespace must be string'],
  [
    `${container}/ports/0/containerPort`,
    '80',
    `${container}/ports/0/containerPort must be integer`,
  ],
  [`${container}/env/0/value`, 8080, `${container}/env/0/value must be string`],
  [
    `${container}/imagePullPolicy`,
    'Alway',
    `${container}/imagePullPolicy must be one of Always, IfNotPresent, Never`,
  ],
  [
    `${container}/resources/limits/memory`,
    '64 MB',
    `${container}/resources/limits/memory must be number, or must match format "quantity"`,
  ],
  ['/spec/selector', undefined, '/spec must have required property selector'],
  ['/apiVersion', 'apps/v2', 'Kubernetes has no Deployment of version apps/v2'],
  ['/kind', 'Deploy', 'Kubernetes has no Deploy of version apps/v1'],
  ['/apiVersion', '../v1', 'Kubernetes has no Deployment of version ../v1'],
  // Wrong names, and references to something that does not exist
  ['/metadata/name', 'r_tiny', '/metadata/name is not allowed: "r_tiny" does not match'],
  ['/metadata/name', 'R', '/metadata/name is not allowed: "R" does not match'],
  ['/metadata/name', 'r'.repeat(64), 'of at most 63 characters'],
  ['/metadata/name', undefined, '/metadata/name is not allowed: undefined does not match'],
  [`${container}/name`, 'tiny.', `${container}/name is not allowed: "tiny." does not match`],
  [`${container}/ports/0/name`, 'health-and-metrics', 'of at most 15 characters'],
  [`${container}/env/0/name`, 'MY PORT', `${container}/env/0/name is not allowed`],
  ['/metadata/labels', { tier: 'a b' }, '/metadata/labels/tier is not allowed: "a b"'],
  ['/metadata/labels', { 'a b': 'x' }, '/metadata/labels/a b is not allowed: "a b"'],
  [`${container}/env/1`, { name: 'PORT', value: '1' }, `${container}/env has PORT twice`],
  [`${container}/volumeMounts/0/name`, 'temp', 'mounts temp, which is no volume of the pod'],
  [
    '/spec/template/metadata/labels',
    { other: 'tiny' },
    '/spec/selector/matchLabels/app.kubernetes.io/name is not a label of the template of the pods',
  ],
] as const)('checkKubeObjects refuses a Deployment with %s = %j', async ([path, field, fault]) => {
  const deployment = structuredClone(makeDeployment());
  setField(deployment, path, field);
  const faults = await checkKubeObjects([deployment as KubeObject]);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(`${deployment.kind} ${deployment.metadata.name}: `);
  expect(faults[0]).toContain(fault);
});

test.for([
  ['Service', '/metadata/name', '1st', 'is not allowed: "1st"'],
  ['ConfigMap', '/data', { 'a/b': 'x' }, '/data/a/b is not allowed'],
  ['ConfigMap', '/data', { a: 1 }, '/data/a must be string'],
  ['Secret', '/data', { a: 'no base64' }, '/data/a must match format "byte"'],
  ['Service', '/spec', undefined, '/spec is missing'],
  ['StatefulSet', '/spec/volumeClaimTemplates', undefined, 'mounts tmp, which is no volume'],
  ['Job', '/spec/template/spec/containers/0/name', 'A', 'is not allowed: "A"'],
  [
    'HTTPRoute',
    '/spec/rules/0/timeouts/request',
    'soon',
    '/spec/rules/0/timeouts/request must match',
  ],
  [
    'PrometheusRule',
    '/spec/groups/0/rules/0/alert',
    5,
    '/spec/groups/0/rules/0/alert must be string',
  ],
  [
    'ServiceMonitor',
    '/spec/endpoints/0/interval',
    'often',
    '/spec/endpoints/0/interval must match',
  ],
] as const)('checkKubeObjects refuses a %s with %s = %j', async ([kind, path, field, fault]) => {
  const object = structuredClone(otherObjects.find((one) => one.kind === kind));
  if (object === undefined) throw new Error(`no ${kind}`);
  setField(object, path, field);
  const faults = await checkKubeObjects([object]);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(`${kind} ${object.metadata.name}: `);
  expect(faults[0]).toContain(fault);
});

/** Fields with an object in which the field names are free. */
const maps = 'annotations data labels limits matchLabels requests selector stringData'.split(' ');

/** The paths of all objects within a value in which only certain field names are allowed. */
function findClosed(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const pathsBelow = Object.entries(value).flatMap(([name, field]) => {
    const isMap = maps.includes(name) && !Object.hasOwn(field as object, 'matchLabels');
    return isMap ? [] : findClosed(field, `${path}/${name}`);
  });
  return Array.isArray(value) ? pathsBelow : [path, ...pathsBelow];
}

test.for([makeDeployment(), ...otherObjects])(
  'checkKubeObjects refuses an unknown field in every object within a $kind',
  async (object) => {
    const objectPaths = findClosed(object);
    expect(objectPaths.length).toBeGreaterThan(1);
    for (const objectPath of objectPaths) {
      const changed = structuredClone(object);
      setField(changed, `${objectPath}/unknown`, { name: 'x' });
      expect(await checkKubeObjects([changed as KubeObject])).toEqual([
        `${object.kind} ${object.metadata.name}: ${objectPath}/unknown is not a known field.`,
      ]);
    }
  },
);

test('checkKubeObjects reports every fault of all objects, and two objects with the same name', async () => {
  const broken = structuredClone(makeDeployment());
  setField(broken, '/spec/replicas', 'two');
  setField(broken, '/spec/replica', 2);
  expect(await checkKubeObjects([broken as KubeObject, ...otherObjects, makeDeployment()])).toEqual(
    [
      'Deployment r-tiny: /spec/replicas must be integer.',
      'Deployment r-tiny: /spec/replica is not a known field.',
      'Deployment r-tiny: another object has this kind and name.',
    ],
  );
});
