import type { KubeObject } from './kube-object.ts';

interface Named {
  readonly name?: string;
  readonly [field: string]: unknown;
}

interface Container extends Named {
  readonly env?: readonly Named[];
  readonly ports?: readonly Named[];
  readonly volumeMounts?: readonly (Named & { readonly mountPath: string })[];
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Named[];
}

interface Pod {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

interface Spec {
  readonly ports?: readonly Named[];
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly template?: Pod;
  readonly jobTemplate?: { readonly spec: { readonly template: Pod } };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

const kindsWithSelector = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet'];
const kindsWithoutSpec = [
  'ClusterRole',
  'ClusterRoleBinding',
  'ConfigMap',
  'Namespace',
  'PriorityClass',
  'Role',
  'RoleBinding',
  'Secret',
  'ServiceAccount',
];

const dnsLabel = { pattern: /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, max: 63 };
const serviceName = { pattern: /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/, max: 63 };
const portName = { pattern: /^(?=[0-9-]*[a-z])(?!.*--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, max: 15 };
const variableName = { pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, max: 253 };
const fileName = { pattern: /^[-._A-Za-z0-9]+$/, max: 253 };
const labelValue = { pattern: /^(?:[A-Za-z0-9](?:[-._A-Za-z0-9]*[A-Za-z0-9])?)?$/, max: 63 };
const labelKey = {
  pattern:
    /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/,
  max: 317,
};

type Rule = typeof dnsLabel;
type Report = (path: string, text: string) => void;

/**
 * Finds faults that an API server refuses although the schemas allow them: names, labels and keys
 * that are not allowed, two entries with the same name, mounts of volumes that the pod does not
 * have, and selectors that do not match the object's own pod. The names of all objects must be DNS
 * labels, because services, pods and labels get their names from them.
 *
 * @param object An object that matches its schema.
 */
export function findRuleFaults(object: KubeObject): string[] {
  const faults: string[] = [];
  const report: Report = (path, text) => void faults.push(`${path} ${text}`);
  const { kind, metadata } = object;
  checkName('/metadata/name', metadata?.name, kind === 'Service' ? serviceName : dnsLabel, report);
  if (metadata?.namespace !== undefined) {
    checkName('/metadata/namespace', metadata.namespace, dnsLabel, report);
  }
  checkLabels('', object, report);
  if (kind === 'ConfigMap' || kind === 'Secret') {
    for (const field of ['data', 'stringData', 'binaryData']) {
      for (const key of Object.keys(object[field] ?? {})) {
        checkName(`/${field}/${key}`, key, fileName, report);
      }
    }
  }
  const spec = object['spec'] as Spec | null | undefined;
  if (spec) checkSpec(object, spec, report);
  else if (!kindsWithoutSpec.includes(kind)) report('/spec', 'is missing');
  return faults;
}

function checkSpec(object: KubeObject, spec: Spec, report: Report): void {
  if (object.kind === 'Service') checkNames('/spec/ports', spec.ports, portName, report);
  const claims = spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name) ?? [];
  if (object.kind === 'Pod') checkPod('', object as unknown as Pod, { claims, report });
  if (spec.template) checkPod('/spec/template', spec.template, { claims, report });
  const jobTemplate = spec.jobTemplate?.spec.template;
  if (jobTemplate) {
    checkPod('/spec/jobTemplate/spec/template', jobTemplate, { claims, report });
  }
  if (!spec.template || !kindsWithSelector.includes(object.kind)) return;
  for (const [key, value] of Object.entries(spec.selector?.matchLabels ?? {})) {
    if (spec.template.metadata?.labels?.[key] !== value) {
      report(`/spec/selector/matchLabels/${key}`, 'is not a label of the template of the pods');
    }
  }
}

/** @param claims The names of the volumes that a StatefulSet creates for its pods. */
function checkPod(
  path: string,
  { spec }: Pod,
  { claims, report }: { claims: readonly string[]; report: Report },
): void {
  checkNames(`${path}/spec/volumes`, spec.volumes, dnsLabel, report);
  const volumes = new Set([...(spec.volumes ?? []).map(({ name }) => name), ...claims]);
  for (const list of ['initContainers', 'containers'] as const) {
    checkNames(`${path}/spec/${list}`, spec[list], dnsLabel, report);
    for (const [index, container] of (spec[list] ?? []).entries()) {
      const place = `${path}/spec/${list}/${index}`;
      checkNames(`${place}/env`, container.env, variableName, report);
      checkNames(`${place}/ports`, container.ports, portName, report);
      const mounts = container.volumeMounts ?? [];
      for (const [mountIndex, { name }] of mounts.entries()) {
        if (volumes.has(name)) continue;
        report(
          `${place}/volumeMounts/${mountIndex}`,
          `mounts ${name}, which is no volume of the pod`,
        );
      }
      const mountPaths = mounts.map(({ mountPath }) => mountPath);
      checkUnique(`${place}/volumeMounts`, mountPaths, report);
    }
  }
}

/** Checks the labels of the object, of its templates and of its selectors. */
function checkLabels(path: string, value: unknown, report: Report): void {
  if (typeof value !== 'object' || value === null) return;
  const isLabels =
    path.endsWith('/metadata/labels') ||
    path.endsWith('/matchLabels') ||
    path.endsWith('/nodeSelector');
  for (const [key, field] of Object.entries(value)) {
    const place = `${path}/${key}`;
    if (isLabels) {
      checkName(place, key, labelKey, report);
      checkName(place, field as string, labelValue, report);
    } else {
      checkLabels(place, field, report);
    }
  }
}

/** Checks the names of the entries of a list. Entries without a name are allowed. */
function checkNames(
  path: string,
  entries: readonly Named[] | undefined,
  rule: Rule,
  report: Report,
): void {
  const names = (entries ?? []).map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    if (name !== undefined) checkName(`${path}/${index}/name`, name, rule, report);
  }
  checkUnique(path, names, report);
}

function checkUnique(path: string, names: readonly (string | undefined)[], report: Report): void {
  const seenNames = new Set<string>();
  for (const name of names) {
    if (name !== undefined && seenNames.has(name)) report(path, `has ${name} twice`);
    if (name !== undefined) seenNames.add(name);
  }
}

function checkName(path: string, name: string | undefined, rule: Rule, report: Report): void {
  if (name !== undefined && name.length <= rule.max && rule.pattern.test(name)) return;
  report(
    path,
    `is not allowed: ${JSON.stringify(name)} does not match ${rule.pattern.source} of at most ${rule.max} characters`,
  );
}
