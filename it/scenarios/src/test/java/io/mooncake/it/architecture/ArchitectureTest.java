// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.library.GeneralCodingRules;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;

/** The arrows between the rooms of the house, over the classes of every module as they are shipped. */
@AnalyzeClasses(packages = "io.mooncake", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    private static final String[] LIBRARIES = {
        "io.mooncake.base..",
        "io.mooncake.natives..",
        "io.mooncake.memory..",
        "io.mooncake.transfer..",
        "io.mooncake.p2p..",
        "io.mooncake.client..",
        "io.mooncake.conductor..",
        "io.mooncake.ignite..",
        "io.mooncake.djl.."
    };

    /** Each room and the rooms of ours that it may know. */
    private static final Map<String, String[]> MAY_KNOW = Map.of(
            "io.mooncake.base..", new String[] {"io.mooncake.base.."},
            "io.mooncake.natives..", new String[] {"io.mooncake.natives..", "io.mooncake.base.."},
            "io.mooncake.memory..",
                    new String[] {"io.mooncake.memory..", "io.mooncake.natives..", "io.mooncake.base.."},
            "io.mooncake.transfer..",
                    new String[] {"io.mooncake.transfer..", "io.mooncake.natives..", "io.mooncake.base.."},
            "io.mooncake.conductor..",
                    new String[] {"io.mooncake.conductor..", "io.mooncake.memory..", "io.mooncake.base.."},
            "io.mooncake.client..", new String[] {"io.mooncake.client.."},
            "io.mooncake.ignite..",
                    new String[] {
                        "io.mooncake.ignite..",
                        "io.mooncake.client..",
                        "io.mooncake.conductor..",
                        "io.mooncake.memory..",
                        "io.mooncake.transfer..",
                        "io.mooncake.natives..",
                        "io.mooncake.base.."
                    },
            "io.mooncake.djl..",
                    new String[] {
                        "io.mooncake.djl..",
                        "io.mooncake.ignite..",
                        "io.mooncake.memory..",
                        "io.mooncake.natives..",
                        "io.mooncake.base.."
                    });

    @ArchTest
    static void rooms_ownTypes_pointDownwardsOnly(JavaClasses all) {
        MAY_KNOW.forEach((room, known) -> noClasses()
                .that()
                .resideInAPackage(room)
                .should()
                .dependOnClassesThat(ours().and(not(resideInAnyPackage(known))))
                .because("the arrows go examples -> djl -> ignite -> memory, transfer -> natives -> base")
                .check(all));
    }

    @ArchTest
    static void memory_transfer_meetThroughAddressesOnly(JavaClasses all) {
        noClasses()
                .that()
                .resideInAPackage("io.mooncake.memory..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.mooncake.transfer..")
                .because("they meet through address, length and handle")
                .check(all);
    }

    @ArchTest
    static void ignite_outsideItsRooms_isUnknown(JavaClasses all) {
        noClasses()
                .that()
                .resideInAnyPackage(LIBRARIES)
                .and(not(
                        resideInAnyPackage("io.mooncake.ignite..", "io.mooncake.transfer.ignite..", "io.mooncake.djl")))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.apache.ignite..")
                .because("pool, engine, index and scheduler run without Ignite; djl's root holds the node extension")
                .check(all);
    }

    @ArchTest
    static void igniteInternals_outsideTheAdapter_areUnknown(JavaClasses all) {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.mooncake.ignite.adapter..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.apache.ignite.internal..")
                .because("one adapter stands between us and what changes with each Ignite release")
                .check(all);
    }

    @ArchTest
    static void djl_outsideItsModule_isUnknown(JavaClasses all) {
        noClasses()
                .that()
                .resideInAnyPackage(LIBRARIES)
                .and(not(resideInAnyPackage("io.mooncake.djl..")))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("ai.djl..")
                .check(all);
    }

    @ArchTest
    static void etcd_outsideItsArtifact_isUnknown(JavaClasses all) {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.etcd..", "io.vertx..", "io.grpc..", "io.netty..")
                .because("its jars come with mooncake-transfer-etcd alone, which has a test of its own for its room")
                .check(all);
    }

    @ArchTest
    static void metadata_wallClock_isNotAsked(JavaClasses all) {
        noClasses()
                .that()
                .resideInAnyPackage("io.mooncake.transfer.metadata..", "io.mooncake.ignite.metadata..")
                .should()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.time.Instant")
                .because("no lease and no limit changes when the wall clock jumps")
                .check(all);
    }

    @ArchTest
    static void arrow_inTransport_isUnknown(JavaClasses all) {
        noClasses()
                .that()
                .resideInAnyPackage("io.mooncake.transfer..", "io.mooncake.natives..", "io.mooncake.base..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.apache.arrow..")
                .because("registered memory is an address and a length, whoever allocated it")
                .check(all);
    }

    @ArchTest
    static void conductor_isPlainJava(JavaClasses all) {
        classes()
                .that()
                .resideInAPackage("io.mooncake.conductor..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..",
                        "org.jspecify..",
                        "org.slf4j..",
                        "io.mooncake.conductor..",
                        "io.mooncake.memory..",
                        "io.mooncake.base..")
                .because("a simulation drives the scheduler")
                .check(all);
    }

    @ArchTest
    static void base_isPlainJava(JavaClasses all) {
        classes()
                .that()
                .resideInAPackage("io.mooncake.base..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "org.jspecify..", "io.mooncake.base..")
                .check(all);
    }

    @ArchTest
    static void client_isPlainJava(JavaClasses all) {
        classes()
                .that()
                .resideInAPackage("io.mooncake.client..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "org.jspecify..", "io.mooncake.client..")
                .because("a thin client has this jar and ignite-core, nothing else")
                .check(all);
    }

    @ArchTest
    static void libraries_standardStreams_areNotUsed(JavaClasses all) {
        noClasses()
                .that()
                .resideInAnyPackage(LIBRARIES)
                .should(GeneralCodingRules.ACCESS_STANDARD_STREAMS)
                .check(all);
    }

    @ArchTest
    static void libraries_javaSerialization_isNotUsed(JavaClasses all) {
        noClasses()
                .that()
                .resideInAnyPackage("io.mooncake.transfer..", "io.mooncake.memory..", "io.mooncake.natives..")
                .should()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.io.ObjectInputStream")
                .because("frames are parsed by hand; no object is ever read from a peer")
                .check(all);
    }

    @ArchTest
    static void packages_everyone_isNullMarked(JavaClasses all) {
        TreeSet<String> unmarked = new TreeSet<>();
        for (JavaClass each : all) {
            JavaPackage home = each.getPackage();
            if (!home.isAnnotatedWith(NullMarked.class)) {
                unmarked.add(home.getName());
            }
        }
        assertThat(unmarked)
                .as("packages whose package-info.java lacks @NullMarked")
                .isEmpty();
    }

    @ArchTest
    static void classes_ofEveryModule_areLookedAt(JavaClasses all) {
        for (String room : MAY_KNOW.keySet()) {
            assertThat(all.that(resideInAnyPackage(room))).as(room).isNotEmpty();
        }
        assertThat(all.that(resideInAnyPackage("io.mooncake.examples.."))).isNotEmpty();
        assertThat(all.that(resideInAnyPackage("io.mooncake.testkit.."))).isNotEmpty();
        assertThat(all.that(resideInAnyPackage("io.mooncake.benchmarks.."))).isNotEmpty();
    }

    private static DescribedPredicate<JavaClass> ours() {
        return resideInAnyPackage("io.mooncake..");
    }
}
