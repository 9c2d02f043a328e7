import { existsSync } from 'node:fs';

import type { ErrorObject } from 'ajv';

import type { KubeObject } from './kube-object.ts';
import { findRuleFaults } from './kube-rules.ts';
import { watch } from './watched.ts';

/** The packages that contain the schemas. */
const kubernetes = import.meta.resolve('kubernetes-models');
const otherGroups: Readonly<Record<string, string>> = {
  'gateway.networking.k8s.io': import.meta.resolve('@kubernetes-models/gateway-api'),
  'monitoring.coreos.com': import.meta.resolve('@kubernetes-models/prometheus-operator'),
};

type Validate = (this: unknown) => void;

/**
 * Finds everything in the objects that a cluster would refuse or ignore: an unknown kind, a wrong
 * type or value, an unknown field, a bad name, and the faults that `findRuleFaults` finds. The
 * schemas are those of Kubernetes, the Gateway API and the Prometheus Operator.
 *
 * @returns One sentence per fault with kind, name and path, for example
 * `Deployment gateway: /spec/replica is not a known field.`
 */
export async function checkKubeObjects(objects: readonly KubeObject[]): Promise<string[]> {
  const sentences: string[] = [];
  const ids = new Set<string>();
  for (const object of objects) {
    const subject = `${object.kind} ${object.metadata?.name}`;
    for (const fault of await findFaults(object)) sentences.push(`${subject}: ${fault}.`);
    const id = JSON.stringify([object.apiVersion, subject, object.metadata?.namespace]);
    if (ids.has(id)) sentences.push(`${subject}: another object has this kind and name.`);
    ids.add(id);
  }
  return sentences;
}

async function findFaults(object: KubeObject): Promise<string[]> {
  const { apiVersion, kind } = object;
  const validate = await findValidator(object);
  if (validate === undefined) return [`Kubernetes has no ${kind} of version ${apiVersion}`];
  const watched = watch(object);
  const errors = findErrors(validate, watched.value);
  const unknownFields = watched.findUnread().map((path) => `${path} is not a known field`);
  // The rules assume an object that matches its schema, so they are checked only then.
  return errors.length > 0
    ? [...errors, ...unknownFields]
    : [...unknownFields, ...findRuleFaults(object)];
}

/**
 * Loads the validator for the object's kind. Only the schemas that this validator uses are loaded.
 */
async function findValidator({ apiVersion, kind }: KubeObject): Promise<Validate | undefined> {
  if (!/^(?:[a-z0-9.-]+\/)?v[a-z0-9]+$/.test(apiVersion) || !/^[A-Za-z0-9]+$/.test(kind))
    return undefined;
  const source = otherGroups[apiVersion.split('/')[0] ?? ''] ?? kubernetes;
  const file = new URL(`${apiVersion}/${kind}.js`, source);
  if (!existsSync(file)) return undefined;
  const loaded = (await import(file.href)) as Readonly<
    Record<string, { readonly prototype: { readonly validate: Validate } } | undefined>
  >;
  return loaded[kind]?.prototype.validate;
}

/**
 * Runs a validator. If the value is wrong, the validator throws an error that lists all problems.
 */
function findErrors(validate: Validate, value: unknown): string[] {
  try {
    validate.call(value);
    return [];
  } catch (error) {
    const { errors } = error as { errors?: readonly ErrorObject[] };
    if (errors === undefined) throw error;
    return [...Map.groupBy(errors, ({ instancePath }) => instancePath)].flatMap(([path, group]) =>
      describeErrors(group).map((text) => `${path || 'the object'} ${text}`),
    );
  }
}

/**
 * Describes the errors at one path. The errors of several alternatives (`anyOf`) become one
 * sentence.
 */
function describeErrors(errors: readonly ErrorObject[]): string[] {
  const texts = errors
    .filter(({ keyword }) => keyword !== 'oneOf' && keyword !== 'anyOf')
    .map(({ message, params }) => {
      const { allowedValues } = params as { allowedValues?: readonly unknown[] };
      return allowedValues ? `must be one of ${allowedValues.join(', ')}` : (message ?? 'is wrong');
    });
  const hasAlternatives = texts.length < errors.length;
  if (!hasAlternatives) return texts;
  return [texts.length === 0 ? 'must match exactly one alternative' : texts.join(', or ')];
}
