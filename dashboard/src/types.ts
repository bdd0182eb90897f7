// What the back end answers: the JSON API under /dashboard/api.

export interface Ref {
  apiVersion: string;
  kind: string;
  namespace?: string | null;
  name: string;
}

/** Commands by which a cluster joins: `setup` first, if it is not empty. */
export interface Joining {
  setup: string;
  command: string;
  ends: string;
}

export interface Session {
  user: string;
  groups: string[];
  csrf: string;
  readOnly: boolean;
  reason?: string;
  version: string;
  search: boolean;
}

export type Amount = number | string;

export interface ClusterRow {
  name: string;
  ready: boolean | null;
  reason: string;
  message: string;
  mode: "Push" | "Pull";
  version: string;
  region: string;
  zone: string;
  provider: string;
  taints: string[];
  capacity: Record<string, { allocatable: Amount; allocated: Amount }>;
  nodes: { ready: number; total: number };
  workloads: number;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface ClusterDetail extends ClusterRow {
  conditions: Condition[];
  labels: Record<string, string>;
  models: Model[];
  events: EventRow[];
  apis: number;
}

export interface Model {
  grade?: number;
  count?: number;
  ranges?: { name: string; min: Amount; max: Amount }[];
}

export interface NodeRow {
  name: string;
  ready: boolean | null;
  message: string;
  schedulable: boolean;
  roles: string[];
  version: string;
  allocatable: Record<string, string>;
  taints: string[];
}

export type WorkloadStatus = "Healthy" | "Progressing" | "Unhealthy" | "Unscheduled" | "NoPolicy";

export interface Share {
  name: string;
  replicas: number | null;
  ready: number | null;
  health: string;
}

export interface WorkloadRow {
  ref: Ref;
  policy: Ref | null;
  clusters: Share[];
  desired: number | null;
  ready: number | null;
  status: WorkloadStatus;
  sentence: string;
}

export interface WorkloadPage {
  items: WorkloadRow[];
  continue: string | null;
  total: number;
}

export interface Problem {
  severity: string;
  object: Ref | null;
  sentence: string;
  remedy: string;
}

export interface Move {
  ref: Ref;
  before: Record<string, number>;
  after: Record<string, number>;
  sentence: string;
  time?: string;
}

export interface Overview {
  clusters: ClusterRow[];
  workloads: { total: number; healthy: number; progressing: number; unhealthy: number };
  problems: Problem[];
  moves: Move[];
}

export type State = "ok" | "wait" | "bad" | "off";
export type NodeType = "template" | "policy" | "binding" | "cluster" | "override" | "work" | "object" | "pod";

export interface GraphNode {
  id: string;
  type: NodeType;
  label: string;
  state: State;
  sentence: string;
  ref?: Ref | null;
  cluster?: string | null;
}

export interface GraphEdge {
  from: string;
  to: string;
  label?: string | null;
  state: State;
}

export interface Reason {
  sentence: string;
  remedy: string;
}

export interface Verdict {
  cluster: string;
  chosen: boolean;
  replicas: number | null;
  score: number | null;
  reasons: Reason[];
}

export interface Moment {
  time: string;
  sentence: string;
  cluster?: string | null;
  kind: "decision" | "move" | "event";
}

export interface Workload {
  ref: Ref;
  template: unknown;
  graph: { nodes: GraphNode[]; edges: GraphEdge[] };
  verdicts: Verdict[];
  overrides: { cluster: string; policy: Ref; diff: string }[];
  timeline: Moment[];
  why: { status: string; because: string[]; remedy: string[] };
}

export interface PolicyRow {
  ref: Ref;
  selectors: string[];
  placement: string;
  matches: number;
  conflicts: { with: Ref; object: Ref; sentence: string }[];
}

export interface PolicyDetail extends PolicyRow {
  object: unknown;
  matched: Ref[];
}

export interface SimulationResult {
  moves: Move[];
  problems: (Problem | string)[];
}

export interface Applied {
  ref: Ref;
  action: string;
  errors: { line: number | null; field: string; message: string }[];
  warnings: string[];
}

export interface EventRow {
  id?: string;
  time: string;
  type: string;
  reason: string;
  object: Ref;
  message: string;
  count: number;
  cluster?: string | null;
}

export interface DriftRow {
  ref: Ref;
  cluster: string;
  sentence: string;
}

export interface Change {
  topic: string;
  rows: unknown[];
  gone: Ref[];
  /** Whether this is the whole topic, sent when a stream begins. */
  snapshot?: boolean;
  /** Whether rows are not sent: read the page anew. */
  refetch?: boolean;
}
