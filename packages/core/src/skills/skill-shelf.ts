import { anyFunction, anyText, checkOptions, type OptionRules, objectOf, required } from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import { checkName, META_TOOL_NAMES } from '../names.ts'
import { Catalogue } from '../registry/catalogue.ts'
import { Entry } from '../registry/entry.ts'
import type { Snapshot } from '../registry/snapshot.ts'
import type { ToolFinder } from '../search/tool-finder.ts'

/** Instructions for a kind of task, found by search and loaded when a model needs them. */
export interface Skill {
  readonly name: string
  /** What it is for, and when to use it: this is searched, and shown to the model before the skill is loaded. */
  readonly description: string
  /** Returns the instructions. */
  load(): string | Promise<string>
  /** Its other files, by path: scripts, templates, references. Each is read when a model asks for it. */
  readonly files?: Readonly<Record<string, () => string | Promise<string>>>
}

/** What `tool_search` looks for. */
export type SearchKind = 'tool' | 'skill'

const RULES: OptionRules<Skill> = {
  name: required(anyText),
  description: required(anyText),
  load: required(anyFunction),
  files: objectOf(anyFunction),
}

/** Skills: in one index with the tools, and otherwise apart from them. */
export class SkillShelf {
  readonly #skills = new Map<string, Skill>()
  readonly #catalogue = new Catalogue(META_TOOL_NAMES, () => {})
  readonly finder: ToolFinder

  constructor(finder: ToolFinder) {
    this.finder = finder
  }

  get size(): number {
    return this.#skills.size
  }

  /** Throws `config-invalid`, `name-invalid`, or `tool-duplicate` if there is a skill of that name. */
  add(skill: Skill): void {
    checkOptions('registerSkill()', skill, RULES)
    const { name, description } = skill
    checkName(name, 'skill name')
    if (this.#skills.has(name))
      throw new ToolcribError('tool-duplicate', `there is a skill "${name}" already`)
    this.#catalogue.add(skillEntry(name, description), { replace: false })
    this.#skills.set(name, skill)
    this.#show()
  }

  remove(name: string): boolean {
    this.#catalogue.remove(policyName(name))
    this.#show()
    return this.#skills.delete(name)
  }

  /** The skills as entries of a catalogue. */
  snapshot(): Snapshot {
    return this.#catalogue.snapshot()
  }

  all(): readonly Skill[] {
    return [...this.#skills.values()]
  }

  get(name: string): Skill | undefined {
    return this.#skills.get(name)
  }

  #show(): void {
    this.finder.putBeside(this.#catalogue.snapshot().sorted.map(({ listing }) => listing))
  }
}

function policyName(name: string): string {
  return `skill__local__${name}`
}

/** A skill as search and policy see it. It is never called. */
function skillEntry(name: string, description: string): Entry {
  const tool = { name: policyName(name), description, inputSchema: {}, execute: () => undefined }
  return new Entry(tool, {
    name: policyName(name),
    ownName: name,
    source: { kind: 'builtin' },
    deferral: 'deferred',
    trust: 0,
  })
}
