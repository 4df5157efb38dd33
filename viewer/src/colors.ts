// Colours of the canvases. Those of the document stand in style.css. The user's own code is green, libraries are
// slate: hue and lightness both differ. Older and newer are blue and orange, which colour-blind people tell apart.

import type { Profile } from "./profile";
import type { TreeNode } from "./tree";

const LIGHT = { background: "#fdfcfa", ink: "#1b1c1a", merged: "#dcd8d0", match: "#6b3fa0", matchInk: "#ffffff", selected: "#14110d",
	grid: "#e7e3dc", axis: "#5f5a52", heap: "#0f7b63", heapFill: "rgba(15, 123, 99, 0.16)", rss: "#8b857b", mark: "#a3480a" };
const DARK = { background: "#16181a", ink: "#f0efe9", merged: "#33373a", match: "#b794f0", matchInk: "#16121d", selected: "#ffffff",
	grid: "#2a2e31", axis: "#a5a29a", heap: "#48c7a4", heapFill: "rgba(72, 199, 164, 0.17)", rss: "#8d9398", mark: "#f0a35e" };

export function palette(dark: boolean) {
	return dark ? DARK : LIGHT;
}

function hash(text: string): number {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return (value ^ (value >>> 15)) >>> 0;
}

const SLATES = [212, 232, 256, 196, 284];
let cache = new Map<number, string>(), cachedFor: Profile | null = null, cachedDark = false;

export function boxColor(profile: Profile, frame: number, dark: boolean): string {
	if (profile !== cachedFor || dark !== cachedDark) {
		cache = new Map();
		cachedFor = profile;
		cachedDark = dark;
	}
	if (frame < 0)
		return dark ? "#2c3033" : "#e9e5dd";
	const id = profile.functionOf[frame];
	let color = cache.get(id);
	if (!color)
		cache.set(id, (color = makeColor(profile, frame, dark)));
	return color;
}

function makeColor(profile: Profile, frame: number, dark: boolean): string {
	const step = hash(profile.name(frame)) % 4;
	if (profile.isOther(frame))
		return dark ? "#3a3d40" : "#dedad2";
	if (profile.isOwn(frame) && !profile.isInternal(frame))
		return dark ? `hsl(${158 + step * 4} 38% ${27 + step * 2.5}%)` : `hsl(${154 + step * 5} 42% ${78 - step * 3}%)`;
	if (profile.isOwn(frame))
		return dark ? `hsl(150 9% ${27 + step * 2}%)` : `hsl(140 12% ${86 - step * 2}%)`;
	const hue = SLATES[hash(profile.module(frame)) % SLATES.length];
	return dark ? `hsl(${hue} 16% ${28 + step * 2}%)` : `hsl(${hue} 28% ${87 - step * 2}%)`;
}

/** Orange for more, blue for less, by how large a part of the larger side the change is. */
export function diffColor(node: TreeNode, dark: boolean): string {
	const now = node.total - node.old, larger = Math.max(now, node.old);
	const part = larger ? (now - node.old) / larger : 0;
	const strength = Math.sqrt(Math.abs(part));
	if (Math.abs(part) < 0.001)
		return dark ? "#34383b" : "#e6e2da";
	const hue = part > 0 ? 26 : 212;
	return dark ? `hsl(${hue} ${20 + 50 * strength}% ${24 + 10 * strength}%)` : `hsl(${hue} ${25 + 60 * strength}% ${88 - 22 * strength}%)`;
}
