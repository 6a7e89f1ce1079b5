<?php

/** A test runner in one file: names, comparisons, and a count at the end. */

declare(strict_types=1);

namespace Portcullis\Tests;

final class Check
{
    private static int $passed = 0;
    private static int $failed = 0;

    /** @param callable(): void $run */
    public static function that(string $fact, callable $run): void
    {
        try {
            $run();
            self::$passed++;
        } catch (\Throwable $fault) {
            self::$failed++;
            echo "FAILED: $fact\n  " . $fault::class . ': ' . $fault->getMessage() . "\n  "
                . $fault->getFile() . ':' . $fault->getLine() . "\n";
        }
    }

    public static function same(mixed $expected, mixed $actual, string $what = ''): void
    {
        if ($expected !== $actual) {
            throw new \LogicException(
                "$what expected " . var_export($expected, true) . ', got ' . var_export($actual, true),
            );
        }
    }

    /**
     * @template T of \Throwable
     * @param class-string<T> $class exactly this one
     * @return T
     */
    public static function throws(string $class, callable $run): \Throwable
    {
        try {
            $run();
        } catch (\Throwable $thrown) {
            self::same($class, $thrown::class, $thrown->getMessage());
            return $thrown;
        }
        throw new \LogicException("$class was not thrown");
    }

    public static function summary(): int
    {
        echo self::$passed . ' passed, ' . self::$failed . " failed\n";
        return self::$failed === 0 && self::$passed > 0 ? 0 : 1;
    }
}
