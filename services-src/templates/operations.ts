import type { CompiledAction, CompiledTemplate } from '../contracts/template.ts';
import { matchSegment, readSegments, readSteps, segmentCountMax, segmentsIn } from './segments.ts';
import type { Segment, Step, Values } from './segments.ts';

/** An operation of a template that a request may be, with what its path says about the params. */
export interface FoundOperation {
  readonly action: CompiledAction;
  readonly pathValues: Values;
}

/** What looking for operations may still take, in steps of some 10 ns. It is taken from. */
export interface PathBudget {
  left: number;
}

interface Request {
  readonly method: string;
  readonly path: string;
}

/** For one template, where nobody has set a budget. */
export const stepsMax = 1_500_000;
const stepsPerComparison = 4;
const stepsPerCell = 2;
const stepsPerSegmentRead = 50;

/** A path can be read in several ways only where several parameters may hold `/`. */
const readingsMax = 16;

/**
 * The operations of a template that a method and a path below its base URL stand for: of those
 * that fit, the ones with the most fixed segments, as servers route (`/users/me` before
 * `/users/{id}`). Several when the template is ambiguous, or when parameters that may hold `/`
 * can share the path in several ways. None where finding out would take too long.
 */
export function findOperations(
  template: CompiledTemplate,
  { method, path }: Request,
): FoundOperation[] {
  const budget = { left: stepsMax };
  const segments = readWithin(path, budget);
  return lookUp(template, method, { segments, ignoresCase: false, budget }) ?? [];
}

/** A HEAD is answered by what answers GET. */
export function isSameMethod(left: string, right: string): boolean {
  return answeredAs(left) === answeredAs(right);
}

function answeredAs(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** An operation by its path, which is read when a path of its length is first compared with it. */
interface Route {
  readonly action: CompiledAction;
  readonly length: number;
  /** A parameter may hold `/`. */
  readonly isOpen: boolean;
  steps: readonly Step[] | undefined;
  fixed: number;
}

/** By method. Found once for each template: every request to its host is compared with all of them. */
const knownRoutes = new WeakMap<CompiledTemplate, ReadonlyMap<string, readonly Route[]>>();

function routesOf(
  template: CompiledTemplate,
  budget: PathBudget,
): ReadonlyMap<string, readonly Route[]> {
  const known = knownRoutes.get(template);
  if (known !== undefined) return known;
  const routes = new Map<string, Route[]>();
  for (const action of Object.values(template.actions)) {
    const method = answeredAs(action.method);
    const all = routes.get(method) ?? [];
    routes.set(method, all);
    const isOpen = action.params.some((param) => param.in === 'path' && param.allowReserved);
    all.push({ action, length: segmentsIn(action.path), isOpen, steps: undefined, fixed: 0 });
    budget.left -= 20 + action.params.length + (action.path.length >> 2);
  }
  knownRoutes.set(template, routes);
  return routes;
}

/** A path as it is compared with those of operations. */
export interface Reading {
  readonly segments: readonly Segment[];
  readonly ignoresCase: boolean;
  readonly budget: PathBudget;
}

export function readWithin(path: string, budget: PathBudget): Segment[] {
  const segments = budget.left < 0 ? [] : readSegments(path);
  budget.left -= path.length + stepsPerSegmentRead * segments.length;
  return segments;
}

/** Every method by which the template has an operation. */
export function methodsOf(template: CompiledTemplate, budget: PathBudget): readonly string[] {
  return [...routesOf(template, budget).keys()];
}

/** Undefined: more than can be looked through. */
export function lookUp(
  template: CompiledTemplate,
  method: string,
  reading: Reading,
): FoundOperation[] | undefined {
  const { segments, budget } = reading;
  if (budget.left < 0) return undefined;
  const routes = routesOf(template, budget).get(answeredAs(method)) ?? [];
  const fitting: (FoundOperation & { fixed: number })[] = [];
  let most = 0;
  for (const route of routes) {
    budget.left -= 1;
    const spare = segments.length - route.length;
    if (spare < 0 || (spare > 0 && !route.isOpen)) continue;
    const readings = readingsOf(route, reading);
    if (readings === undefined || budget.left < 0) return undefined;
    if (readings.length === 0) continue;
    most = Math.max(most, route.fixed);
    for (const pathValues of readings) {
      fitting.push({ action: route.action, pathValues, fixed: route.fixed });
    }
  }
  return fitting
    .filter(({ fixed }) => fixed === most)
    .map(({ action, pathValues }) => ({ action, pathValues }));
}

/** Every way in which the path fits the action, up to a limit. */
function readingsOf(route: Route, reading: Reading): Values[] | undefined {
  const { segments, budget } = reading;
  // Templates of earlier versions may have longer ones.
  if (route.length > segmentCountMax) return undefined;
  if (route.steps === undefined) {
    route.steps = readSteps(route.action);
    route.fixed = route.steps.filter(({ isFixed }) => isFixed).length;
    budget.left -= stepsPerSegmentRead * route.length;
  }
  if (segments.length === route.length) return readInOrder(route.steps, reading);
  const cost = stepsPerCell * route.length * segments.length;
  if (cost > budget.left) return undefined;
  budget.left -= cost;
  return readOpen(route.steps, reading);
}

/** Segment by segment: as many as the template has. */
function readInOrder(
  expected: readonly Step[],
  { segments, ignoresCase, budget }: Reading,
): Values[] {
  const values: Record<string, string> = {};
  for (const [at, step] of expected.entries()) {
    budget.left -= stepsPerComparison;
    const segment = segments[at];
    const matched = segment && matchSegment(step, segment, ignoresCase);
    if (matched === undefined) return [];
    Object.assign(values, matched);
  }
  return [values];
}

/** With parameters that may hold `/`. */
function readOpen(expected: readonly Step[], reading: Reading): Values[] | undefined {
  const { segments, ignoresCase, budget } = reading;
  const fits = fitsFrom(expected, reading);
  const readings: Values[] = [];
  // Goes only where the rest of the path fits, so every step is part of a reading.
  const read = (at: number, from: number, values: Values): void => {
    const step = expected[at];
    if (step === undefined) {
      readings.push(values);
      return;
    }
    const longest = step.isOpen ? segments.length - from : 1;
    for (let length = 1; length <= longest && readings.length < readingsMax; length += 1) {
      budget.left -= 1;
      if (budget.left < 0) return;
      if (!fits(at + 1, from + length)) continue;
      budget.left -= stepsPerComparison * length;
      const found = segments.slice(from, from + length);
      const matched = matchSegment(step, joined(found), ignoresCase);
      if (matched) read(at + 1, from + length, { ...values, ...matched });
    }
  };
  if (fits(0, 0)) read(0, 0, {});
  return readings;
}

function joined(segments: readonly Segment[]): Segment {
  const [only] = segments;
  if (only !== undefined && segments.length === 1) return only;
  const join = (name: keyof Segment) => segments.map((each) => each[name]).join('/');
  return {
    text: join('text'),
    plain: join('plain'),
    folded: join('folded'),
    foldedPlain: join('foldedPlain'),
  };
}

/**
 * Which ends of the path fit which ends of the template's, from the last segment back: one step for
 * each pair of segments, whatever the parameters in between could hold.
 */
function fitsFrom(
  expected: readonly Step[],
  { segments, ignoresCase }: Reading,
): (at: number, from: number) => boolean {
  const width = segments.length + 1;
  const fitting = new Uint8Array((expected.length + 1) * width);
  fitting[expected.length * width + segments.length] = 1;
  for (let at = expected.length - 1; at >= 0; at -= 1) {
    const step = expected[at];
    let isAnyAfter = false;
    for (let from = segments.length - 1; from >= at; from -= 1) {
      isAnyAfter ||= fitting[(at + 1) * width + from + 1] === 1;
      const segment = segments[from];
      if (step === undefined || segment === undefined) continue;
      const isFitting = step.isOpen
        ? isAnyAfter
        : fitting[(at + 1) * width + from + 1] === 1 &&
          matchSegment(step, segment, ignoresCase) !== undefined;
      if (isFitting) fitting[at * width + from] = 1;
    }
  }
  return (at, from) => fitting[at * width + from] === 1;
}
