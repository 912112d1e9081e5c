/** How serious a finding is: `high` is rarely innocent, `low` is informational. */
export type Severity = 'high' | 'medium' | 'low'

/** The kind of problem in a definition. */
export type FindingKind =
  /** Text that reads like an instruction to the model rather than a description. */
  | 'instruction'
  /** Characters that are invisible to people but read by models. */
  | 'hidden-characters'
  /** Text that tells the model to ignore its instructions. */
  | 'override'
  /** Text that tells the model to keep something from the user. */
  | 'secrecy'
  /** Markup that makes a description look like the host's own instructions. */
  | 'fake-markup'
  /** Text that asks for files, credentials or the conversation itself. */
  | 'exfiltration'
  /** Text that promotes this tool over others, or refers to another server's tools. */
  | 'precedence'
  /** Text moved out of sight, or encoded. */
  | 'concealment'
  /** A name that looks like another one. */
  | 'look-alike'
  /** A tool with the same definition as another server's. */
  | 'clone'

/** A part of a definition that a person should review: of a tool, or of something else that a server offers. */
export interface Finding {
  readonly kind: FindingKind
  readonly severity: Severity
  readonly server: string
  /** The server's own name for the tool; for anything else, its name or URI, or `instructions`. */
  readonly tool: string
  /** Set when it is not about a tool. */
  readonly item?: 'instructions' | 'prompts' | 'resources' | 'resourceTemplates'
  /** Where in the definition: `description`, `inputSchema.properties.path.description`. */
  readonly place: string
  /** Describes the problem, in our words. */
  readonly message: string
  /** The passage, with hidden characters made visible. Untrusted: the server wrote it. */
  readonly excerpt: string
  /** For a tool with the same description as another server's: that tool. */
  readonly original?: { readonly server: string; readonly tool: string }
}

/** A finding without the tool it belongs to. */
export type Trace = Omit<Finding, 'server' | 'tool' | 'item' | 'place'>
