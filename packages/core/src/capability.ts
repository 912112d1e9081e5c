import { checkOptions, type OptionRules, objectWith, oneOf, optionsWith, textList } from './check-options.ts'

/**
 * What a tool declares it needs. A tool gets what it declared *and* the host granted; `*` in a list means
 * everything the host's own policy lists, never more.
 */
export interface CapabilityRequest {
  /** Host names, `*.example.com` for subdomains. */
  network?: string[]
  /** Names of secrets. */
  secrets?: string[]
  storage?: true
  /** Paths below which files may be read or written. */
  fs_reach?: { read?: string[]; write?: string[] }
  /** Commands that may be started, without a shell. */
  process?: string[]
  attachments?: true
}

/** The name of a capability: the key in a tool's declaration, and of its handle in the context. */
export type CapabilityName = keyof CapabilityRequest

/**
 * Thrown by a capability that fails or refuses a request inside a call. `code` becomes the code of the call's result;
 * `message` names the next step. `denied` means that the request lies outside the grant.
 */
export class CapabilityError extends Error {
  /** Always `CapabilityError`. */
  override readonly name = 'CapabilityError'
  /** The code of the call's result. */
  readonly code: 'denied' | 'not_available' | 'input_invalid' | 'execution_failed' | 'timeout' | 'cancelled'

  constructor(code: CapabilityError['code'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** A file attached to the user's message. */
export interface Attachment {
  readonly name: string
  readonly mimeType: string
  readonly data: Uint8Array | string
}

/**
 * `ctx.network`: fetch, limited to the granted hosts. Resolves once the whole body has arrived, within the host's
 * limits.
 */
export interface NetworkAccess {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
}

/** `ctx.secrets`: named values. `get` throws an error with the name if the secret was not declared or not granted. */
export interface SecretAccess {
  get(name: string): string
}

/** `ctx.storage`: a key-value store private to this tool, or shared with the tools that the host chooses. */
export interface StorageAccess {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  /** Every key, sorted. */
  keys(): Promise<string[]>
  /**
   * Reads, changes and writes atomically, so concurrent calls lose no updates. `change` receives the current value
   * and returns the new one, or undefined to delete the key. Resolves to what `change` returned.
   */
  update(key: string, change: (value: string | undefined) => string | undefined): Promise<string | undefined>
}

/** A file's metadata, available without reading it. */
export interface FileInfo {
  /** The real path. */
  readonly path: string
  readonly name: string
  /** `link` appears only in listings; all other methods follow links, as long as they stay within the roots. */
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly size: number
}

/**
 * `ctx.fs_reach`: files below the granted roots. Every path is resolved to its real path before use; relative paths
 * start at the host's base directory.
 */
export interface FileAccess {
  readFile(path: string): Promise<Uint8Array>
  /** Replaces the whole file atomically, so readers never see a partial write. Creates missing directories. */
  writeFile(path: string, data: string | Uint8Array): Promise<void>
  /**
   * Reads, changes and writes atomically, so concurrent calls lose no updates. `change` receives the current bytes
   * and returns the new content, or undefined to leave the file unchanged. A `CapabilityError` that it throws is
   * rethrown.
   */
  update(path: string, change: (data: Uint8Array) => string | Uint8Array | undefined): Promise<void>
  /** A directory's entries, sorted by name. */
  list(path: string): Promise<FileInfo[]>
  /** Undefined when nothing exists at this path. */
  stat(path: string): Promise<FileInfo | undefined>
}

/** How a command ended, and its output. */
export interface ProcessOutcome {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** True when output beyond the limit was dropped. */
  readonly isCut: boolean
  /** True when the command was stopped because it wrote far more than the limit. */
  readonly isFlooded?: boolean
}

/** `ctx.process`: runs one granted command with its arguments as a list, never through a shell. */
export interface ProcessAccess {
  run(
    command: string,
    args?: readonly string[],
    options?: { cwd?: string; input?: string; timeoutMs?: number },
  ): Promise<ProcessOutcome>
}

/** The handle that each granted capability provides in the tool's context. */
export interface CapabilityHandles {
  readonly network?: NetworkAccess
  readonly secrets?: SecretAccess
  readonly storage?: StorageAccess
  readonly fs_reach?: FileAccess
  readonly process?: ProcessAccess
  readonly attachments?: readonly Attachment[]
}

/** The caller. Backends scope their handles by tool and session, and stop when the signal fires. */
export interface CapabilityScope<Host = unknown> {
  readonly tool: string
  readonly sessionId: string
  readonly signal: AbortSignal
  readonly attachments: readonly Attachment[]
  /** The host's value, as in `ToolContext`. */
  readonly context: Host
}

/** Grants one capability: receives what the tool declared and returns the handle for this call. Throws to refuse. */
export interface CapabilityBackend<Name extends CapabilityName> {
  open(
    declared: NonNullable<CapabilityRequest[Name]>,
    scope: CapabilityScope,
  ): NonNullable<CapabilityHandles[Name]> | Promise<NonNullable<CapabilityHandles[Name]>>
  /** Masks secrets in text bound for a result, an event or an error. */
  mask?(text: string): string
}

/** The host's backends. A capability without a backend is denied. */
export type CapabilityBackends = { readonly [Name in CapabilityName]?: CapabilityBackend<Name> }

/** The checks of what a tool may declare. */
export const CAPABILITY_RULES: OptionRules<CapabilityRequest> = {
  network: textList,
  secrets: textList,
  storage: oneOf(true),
  fs_reach: optionsWith<NonNullable<CapabilityRequest['fs_reach']>>({ read: textList, write: textList }),
  process: textList,
  attachments: oneOf(true),
}

const aBackend = objectWith('open')

/** The checks of what a host may grant. */
export const BACKEND_RULES: OptionRules<CapabilityBackends> = {
  network: aBackend,
  secrets: aBackend,
  storage: aBackend,
  fs_reach: aBackend,
  process: aBackend,
  attachments: aBackend,
}

/** Throws `config-invalid` for an unknown capability or a value out of range. */
export function checkCapabilityRequest(tool: string, request: unknown): void {
  checkOptions<CapabilityRequest>(`the capabilities of "${tool}"`, request, CAPABILITY_RULES)
}

/** What a tool declares. Unknown names count too: it must not run without them. */
export function declaredNames(request: CapabilityRequest | undefined): CapabilityName[] {
  if (request === undefined) return []
  return (Object.keys(request) as CapabilityName[]).filter((name) => request[name] !== undefined)
}
