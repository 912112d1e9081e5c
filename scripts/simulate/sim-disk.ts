import { dirname } from 'node:path'
import type { Disk, DiskFile } from 'toolcrib/stores'
import type { SimProcess, World } from './world.ts'

interface Node {
  readonly isFolder: boolean
  mtimeMs: number
  content: Buffer
  /** What is on the disk, whatever happens; undefined before the first sync. */
  synced: Buffer | undefined
}

type Nodes = Map<string, Node>
type Fault = 'none' | 'down' | 'read-only' | 'full' | 'slow'

/** A change of folders. They reach the disk late, in their order, as in a file system with a journal. */
type Change =
  | { readonly kind: 'add'; readonly path: string; readonly node: Node }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'move'; readonly path: string; readonly to: string }

/** The disk of one machine: what processes wrote, and what of it survives a power failure. */
export class SimDisk {
  fault: Fault = 'none'
  /** How often the power failed. */
  losses = 0
  /** Called with the key and the value of each entry that was written, whether or not it becomes current. */
  onWrite: (key: string, value: Buffer) => void = () => {}
  readonly #world: World
  readonly #nodes: Nodes = new Map([['/', newNode(true, 0)]])
  readonly #durable: Nodes = new Map(this.#nodes)
  readonly #journal: Change[] = []

  constructor(world: World) {
    this.#world = world
  }

  find(path: string): Node {
    const node = this.#nodes.get(path)
    if (!node) throw failure('ENOENT', path)
    return node
  }

  names(path: string): string[] {
    if (!this.find(path).isFolder) throw failure('ENOTDIR', path)
    const within = path === '/' ? '/' : `${path}/`
    return [...this.#nodes.keys()]
      .filter((each) => each !== '/' && dirname(each) === path)
      .map((each) => each.slice(within.length))
  }

  add(path: string, isFolder: boolean): Node {
    this.#checkWritable()
    this.find(dirname(path))
    if (this.#nodes.has(path)) throw failure('EEXIST', path)
    const node = newNode(isFolder, this.#world.now)
    this.#change({ kind: 'add', path, node })
    return node
  }

  /** Removes a file, or a folder that is empty. */
  remove(path: string): void {
    this.#checkWritable(true)
    if (this.find(path).isFolder && this.names(path).length > 0) throw failure('ENOTEMPTY', path)
    this.#change({ kind: 'remove', path })
  }

  removeAll(path: string): void {
    for (const name of this.names(path)) {
      const inner = `${path}/${name}`
      if (this.find(inner).isFolder) this.removeAll(inner)
      else this.remove(inner)
    }
    this.remove(path)
  }

  move(path: string, to: string): void {
    this.#checkWritable(true)
    const node = this.find(path)
    this.find(dirname(to))
    if (node.isFolder && this.#nodes.has(to) && this.names(to).length > 0) throw failure('ENOTEMPTY', to)
    this.#change({ kind: 'move', path, to })
  }

  write(node: Node, content: Buffer): void {
    this.#checkWritable()
    node.content = content
    node.mtimeMs = this.#world.now
  }

  /** Everything that was not on the disk yet is lost: the last changes of folders, and content that was not synced. */
  losePower(): void {
    this.losses++
    this.#flush(Math.floor(this.#world.random() * (this.#journal.length + 1)))
    this.#journal.length = 0
    this.#nodes.clear()
    for (const [path, node] of this.#durable) {
      // Of content that was not synced, any part may be there, or nothing but its length.
      const kept = this.#world.chance(0.5)
        ? node.content.subarray(0, Math.floor(this.#world.random() * (node.content.length + 1)))
        : Buffer.alloc(node.content.length)
      if (!node.isFolder) node.content = node.synced ?? kept
      this.#nodes.set(path, node)
    }
  }

  #change(change: Change): void {
    apply(this.#nodes, change)
    this.#journal.push(change)
    if (this.#world.chance(0.1)) this.#flush(Math.floor(this.#world.random() * (this.#journal.length + 1)))
  }

  #flush(count: number): void {
    for (const change of this.#journal.splice(0, count)) apply(this.#durable, change)
  }

  #checkWritable(isNameOnly = false): void {
    if (this.fault === 'read-only') throw failure('EROFS', 'the disk')
    if (this.fault === 'full' && !isNameOnly) throw failure('ENOSPC', 'the disk')
  }
}

/** The disk as one process uses it: every step takes time, and none is made once the process is dead. */
export class ProcessDisk implements Disk {
  #lastTrouble = 0
  /** Steps under way that take long. */
  #slow = 0
  readonly #world: World
  readonly #disk: SimDisk
  readonly #host: SimProcess

  constructor(world: World, disk: SimDisk, host: SimProcess) {
    this.#world = world
    this.#disk = disk
    this.#host = host
  }

  /** When an operation last failed, or took long: now, while one does. */
  get lastTrouble(): number {
    return this.#slow > 0 ? this.#world.now : this.#lastTrouble
  }

  access(path: string): Promise<void> {
    return this.#step(() => void this.#disk.find(path))
  }

  mkdir(path: string): Promise<unknown> {
    return this.#step(() => void this.#disk.add(path, true))
  }

  async open(path: string): Promise<DiskFile> {
    const node = await this.#step(() => this.#disk.add(path, false))
    const step = <Value>(work: () => Value) => this.#step(work)
    return {
      chmod: () => step(() => {}),
      writeFile: async (content) => {
        const whole = Buffer.from(content as Uint8Array)
        // A process that is killed in between leaves a part.
        await step(() => this.#disk.write(node, whole.subarray(0, this.#world.random() * whole.length)))
        await step(() => this.#disk.write(node, whole))
        this.#note(whole)
      },
      sync: () =>
        step(() => {
          node.synced = node.content
        }),
      close: () => step(() => {}),
    }
  }

  /** A listing takes a while: a file that is renamed meanwhile may be in it twice, or not at all. */
  async readdir(path: string): Promise<string[]> {
    const before = await this.#step(() => this.#disk.names(path))
    if (!this.#world.chance(0.2)) return before
    const after = await this.#step(() => this.#disk.names(path))
    return [...before.filter(isEarly), ...after.filter((name) => !isEarly(name))]
  }

  readFile(path: string): Promise<Uint8Array> {
    return this.#step(() => Buffer.from(this.#disk.find(path).content))
  }

  rename(from: string, to: string): Promise<void> {
    return this.#step(() => this.#disk.move(from, to))
  }

  async rm(path: string, { recursive = false }: { recursive?: boolean }): Promise<void> {
    await this.#step(() => {
      try {
        if (recursive) this.#disk.removeAll(path)
        else this.#disk.remove(path)
      } catch (error) {
        if ((error as { code?: string }).code !== 'ENOENT') throw error
      }
    })
  }

  rmdir(path: string): Promise<void> {
    return this.#step(() => this.#disk.remove(path))
  }

  stat(path: string): Promise<{ readonly mtimeMs: number }> {
    return this.#step(() => ({ mtimeMs: this.#disk.find(path).mtimeMs }))
  }

  unlink(path: string): Promise<void> {
    return this.#step(() => this.#disk.remove(path))
  }

  writeFile(path: string, content: string): Promise<void> {
    return this.#step(() => this.#disk.write(this.#disk.add(path, false), Buffer.from(content)))
  }

  /** It is done, and the process goes on; it may be dead before either. */
  async #step<Value>(work: () => Value): Promise<Value> {
    await this.#wait()
    this.#host.act()
    if (!this.#host.isAlive) await new Promise(() => {})
    if (this.#disk.fault === 'down') throw this.#trouble(failure('EIO', 'the disk'))
    let value: Value
    try {
      value = work()
    } catch (error) {
      if (!EXPECTED.has((error as { code?: string }).code ?? '')) this.#trouble(error)
      throw error
    }
    if (this.#world.chance(0.1)) await this.#wait()
    return value
  }

  async #wait(): Promise<void> {
    const isSlow = this.#disk.fault === 'slow'
    if (isSlow) this.#slow++
    await this.#world.sleep(isSlow ? 5_000 : this.#world.random())
    if (isSlow) {
      this.#slow--
      this.#lastTrouble = this.#world.now
    }
    if (!this.#host.isAlive) await new Promise(() => {})
  }

  #trouble(error: unknown): unknown {
    this.#lastTrouble = this.#world.now
    return error
  }

  #note(entry: Buffer): void {
    const end = entry.indexOf('\n')
    const { key } = JSON.parse(entry.subarray(0, end).toString()) as { key: string }
    this.#disk.onWrite(key, entry.subarray(end + 1))
  }
}

/** What happens to a store that several processes use. */
const EXPECTED = new Set(['ENOENT', 'EEXIST', 'ENOTEMPTY'])

function newNode(isFolder: boolean, mtimeMs: number): Node {
  return { isFolder, mtimeMs, content: Buffer.alloc(0), synced: undefined }
}

function apply(nodes: Nodes, change: Change): void {
  const { path } = change
  if (change.kind === 'add') nodes.set(path, change.node)
  if (change.kind === 'remove') nodes.delete(path)
  if (change.kind !== 'move') return
  for (const [each, node] of [...nodes]) {
    if (each !== path && !each.startsWith(`${path}/`)) continue
    nodes.delete(each)
    nodes.set(change.to + each.slice(path.length), node)
  }
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}

function isEarly(name: string): boolean {
  return name.charCodeAt(name.length - 1) % 2 === 0
}
